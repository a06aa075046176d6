import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Millis } from '../../framework/runtime.ts';
import { createNodeNetwork } from '../../runtime/network/node-network.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { curvesOf, type SimulationCurves } from '../run-summary/curves.ts';
import { type HitLadder, hitLadder } from '../run-summary/hit-ladder.ts';
import { ResultTable } from '../run-summary/result-table.ts';
import type { SchedulerShare, SimulationResult } from '../run-summary/run-result.ts';
import type { ServiceObjective } from '../run-summary/service-objective.ts';
import type { SimulationSummary, Throughput } from '../run-summary/summarize.ts';
import { summarize, throughputOf } from '../run-summary/summarize.ts';
import type { TraceReading } from '../traces/trace.ts';
import { jittered, speedUp } from '../traces/workload.ts';
import { AskedSchedulers } from './asked-schedulers.ts';
import type { Saturation } from './find-saturation.ts';
import { jobShare } from './job-share.ts';
import { type LoadProbe, saturate } from './saturate.ts';
import { type SimulationOptions, simulateAsking, simulateIntoTable } from './simulate.ts';
import { reshape } from './what-if.ts';

/** One configuration on one draw of a workload. Can be sent to a worker thread. */
export interface SimulationJob {
  /** The name of the configuration in the results. */
  readonly name: string;
  /** A configuration as text, or the name of a built-in one. */
  readonly config: string;
  readonly seed: number;
  readonly speed: number;
  /** Each seed moves arrivals by up to this, in the trace's own time; 0 for no move. */
  readonly spreadMs: number;
  readonly scrapeIntervalMs: number;
  /** See `SimulationOptions`. */
  readonly replicas?: number;
  readonly shareDelayMs?: number;
  /** The change of the pool, as `reshape` takes it. */
  readonly shape?: string;
  readonly objective: ServiceObjective;
  /** Whether to find the highest load that meets the objective as well. */
  readonly findSaturation?: boolean;
  /** Whether its scheduler is in another process. */
  readonly asks?: boolean;
  /** Whether to return the data of charts as well. */
  readonly curves?: boolean;
}

export interface JobResult {
  readonly job: SimulationJob;
  readonly summary: SimulationSummary;
  readonly throughput: Throughput;
  /** Where one decides in place of the profiles. */
  readonly scheduler?: SchedulerShare;
  /** If the job asks for it. */
  readonly saturation?: Saturation<LoadProbe>;
  /** If the job asks for curves, like `ladder`. */
  readonly curves?: SimulationCurves;
  readonly ladder?: HitLadder;
  /** How the trace was read, if a worker has read it. */
  readonly trace?: TraceReading;
}

interface JobParts extends Pick<SimulationOptions, 'workload' | 'pool' | 'createPicker'> {
  /** Called whenever a request has ended, with the share of the job that is done, from 0 to 1. */
  readonly onShare?: (share: number) => void;
}

/**
 * Runs a job. The same job gives the same result on every machine, also where it asks a scheduler
 * in another process, if that answers by nothing but what it receives.
 */
export async function runJob(
  job: SimulationJob,
  { workload, pool, createPicker, onShare }: JobParts,
): Promise<JobResult> {
  const { seed, spreadMs, config, scrapeIntervalMs, objective, replicas, shareDelayMs } = job;
  const drawn =
    spreadMs === 0 ? workload : jittered(workload, seededRandom(seed).fork('arrivals'), spreadMs);
  const shaped = reshape(pool, job.shape);
  const pickers = { config, createPicker, scrapeIntervalMs, shareDelayMs };
  const shared = { ...pickers, ...(replicas && { replicas }), pool: shaped, seed };
  const count = workload.requests.length;
  let runs = 0;
  const onEnded = (ended: number): void =>
    onShare?.(jobShare(runs + ended / count, job.findSaturation === true));
  const run = async (speed: number): Promise<SimulationResult> => {
    const done = await simulated({ ...shared, workload: speedUp(drawn, speed), onEnded }, job);
    runs += 1;
    return done;
  };
  const result = await run(job.speed);
  const curves = job.curves === true ? curvesOf(result, shaped) : undefined;
  const ladder = curves && hitLadder(speedUp(drawn, job.speed), shaped, curves.binMs);
  return {
    job,
    summary: summarize(result, objective),
    throughput: throughputOf(result, objective),
    ...(result.scheduler && { scheduler: result.scheduler }),
    ...(job.findSaturation === true && { saturation: await saturate(run, job, result) }),
    ...(curves && ladder && { curves, ladder }),
  };
}

async function simulated(
  options: SimulationOptions,
  { asks }: SimulationJob,
): Promise<SimulationResult> {
  if (asks !== true) {
    const results = new ResultTable(options.workload.requests.length);
    return simulateIntoTable({ ...options, results });
  }
  const network = createNodeNetwork();
  const pause = (ms: Millis): Promise<unknown> => (ms === 0 ? setImmediate() : setTimeout(ms));
  try {
    return await simulateAsking({ ...options, asked: new AskedSchedulers({ network, pause }) });
  } finally {
    await network.close();
  }
}
