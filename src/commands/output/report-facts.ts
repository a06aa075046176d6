import { basename } from 'node:path';
import { packageVersion } from '../../files/folders.ts';
import { grouped } from '../../framework/values/grouped.ts';
import type { Replayed } from '../../lab/replay/replay-to.ts';
import type { Facts } from '../../lab/report/page.ts';
import { type ServiceObjective, STUDY_OBJECTIVE } from '../../lab/run-summary/service-objective.ts';
import type { ServerSpec } from '../../lab/simulate/pool-spec.ts';
import type { JobResult } from '../../lab/simulate/run-job.ts';
import { rateText, requestsText } from '../../lab/traces/trace.ts';

interface SimulationSource {
  readonly trace: string;
  readonly pool: string;
  readonly seeds: number;
  readonly spread: number;
  readonly speed: number;
}

/** What a report of simulations says about its origin. `runs` are those of the pool as it is. */
export function simulationFacts(
  { trace, pool, seeds, spread, speed }: SimulationSource,
  runs: readonly Pick<JobResult, 'job' | 'summary' | 'throughput'>[],
  servers: readonly ServerSpec[],
): Facts {
  const [first] = runs;
  const { ttftMs = 0, tpotMs = 0 } = first?.job.objective ?? {};
  const moved = seeds === 1 ? '' : `, arrivals moved by up to ${(spread / 1000).toFixed(1)} s`;
  return [
    ['Trace', basename(trace)],
    ['Load', loadText(first?.summary.requests, first?.throughput.requestsPerSecond, speed)],
    ['Pool', `${basename(pool)}: ${serversText(servers)}, simulated`],
    ['Configurations', [...new Set(runs.map(({ job }) => job.name))].join(', ')],
    ['Draws', `${seeds}${moved}`],
    goodAnswer({ ttftMs, tpotMs }),
    ...originFacts(),
  ];
}

interface ReplaySource {
  readonly trace: string;
  readonly speed: number;
  readonly closedLoop: boolean;
}

/** What a report of replays says about its origin. */
export function replayFacts(
  { trace, speed, closedLoop }: ReplaySource,
  replays: readonly Replayed[],
): Facts {
  const [first] = replays;
  const requests = first?.workload.requests;
  const seconds = (requests?.at(-1)?.atMs ?? 0) / 1000;
  const rate = seconds > 0 ? (requests?.length ?? 0) / seconds : undefined;
  return [
    ['Trace', basename(trace)],
    ['Load', loadText(requests?.length, closedLoop ? undefined : rate, speed)],
    ['Targets', replays.map(({ job }) => `${job.name} (${job.target})`).join(', ')],
    ['Servers that answered', grouped(first?.figures.servers.length ?? 0)],
    ['Draws', '1, one target after another'],
    goodAnswer(STUDY_OBJECTIVE),
    ...originFacts(),
  ];
}

function goodAnswer({
  ttftMs,
  tpotMs,
}: Pick<ServiceObjective, 'ttftMs' | 'tpotMs'>): readonly [name: string, value: string] {
  return [
    'Good answer',
    `first token under ${grouped(ttftMs)} ms, then ${grouped(tpotMs)} ms per token`,
  ];
}

/** The program and the date. */
export function originFacts(): Facts {
  const when = new Date().toISOString().slice(0, 16).replace('T', ' ');
  return [
    ['Made with', `Pointsman ${packageVersion()}`],
    ['Date', `${when} UTC`],
  ];
}

function loadText(requests = 0, perSecond: number | undefined, speed: number): string {
  // Requests that all come at once have no rate.
  const isRate = perSecond !== undefined && requests / perSecond > 0.001;
  const rate = isRate ? `, ${rateText(perSecond)} requests/s` : '';
  const faster = speed === 1 ? '' : ` (${speed} times as fast as recorded)`;
  return `${requestsText(requests)}${rate}${faster}`;
}

/** The number of servers of each preset. */
function serversText(servers: readonly ServerSpec[]): string {
  const groups = Map.groupBy(servers, ({ preset = 'server' }) => preset);
  return [...groups].map(([preset, { length }]) => `${length} × ${preset}`).join(', ');
}
