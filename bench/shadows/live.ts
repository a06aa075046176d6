import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { ShadowStatus } from '../../src/shadow/start-shadow.ts';
import { behindEnvoy, startPicker, startUpstream } from '../load/bed.ts';
import { startOpenLoop } from '../load/load.ts';
import { createPrompts } from '../load/prompts.ts';
import { exampleCommand, startScheduler } from '../support/example-schedulers.ts';

export interface LiveOptions {
  readonly perSecond: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly say: (line: string) => void;
}

/** The outcome of a bench as a JSON document and as text. */
export interface Outcome {
  readonly document: object;
  readonly text: string;
}

/** Two more shadows ask schedulers in other processes. */
const IN_PROCESS = ['default', 'reference-default', 'sticky', 'dynamo', 'preble', 'random'];
const REMOTE = 2;
const ENDPOINTS = 8;
const BODY_BYTES = 4096;
const WARM_UP_MS = 5000;

type Keep = <T extends { stop(): Promise<void> }>(each: T) => T;

interface Side {
  readonly name: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly rounds: (readonly number[])[];
}

/** Measures latencies through two pickers that differ only in their shadows, in turn. */
export async function measureLive(options: LiveOptions): Promise<Outcome> {
  const started: { stop(): Promise<void> }[] = [];
  const keep: Keep = (each) => {
    started.push(each);
    return each;
  };
  try {
    const sides = await startSides(options, keep);
    for (const side of sides) await round(side, { ...options, seconds: WARM_UP_MS / 1000 });
    for (const side of sides) side.rounds.length = 0;
    for (let at = 0; at < options.rounds; at++) {
      // The order alternates, so that neither always comes after the other.
      for (const side of at % 2 === 0 ? sides : sides.toReversed()) await round(side, options);
      options.say(`round ${at + 1} of ${options.rounds}`);
    }
    return await outcomeOf(sides, options);
  } finally {
    for (const each of started.toReversed()) await each.stop();
  }
}

async function startSides({ say }: LiveOptions, keep: Keep): Promise<readonly [Side, Side]> {
  const envoy = await fetchEnvoy({ log: say });
  if ('unavailable' in envoy) throw new Error(envoy.unavailable);
  const tools = { envoyPath: envoy.path, nodeFlags: [], log: (): void => undefined };
  const bed = { endpoints: ENDPOINTS, page: 'real', answerChunks: 0 } as const;
  const upstream = keep(await startUpstream(bed, tools));
  const { ports } = upstream.said as { readonly ports: readonly number[] };
  const addresses = ports.map((port) => `127.0.0.1:${port}`);
  const flags = (await shadowConfigs(keep)).flatMap((config) => ['--shadow', config]);
  const sideOf = async (name: string, more: readonly string[]): Promise<Side> => {
    const picker = keep(await startPicker({ config: 'default', flags: more }, addresses, tools));
    const { extProcPort, metricsPort } = picker.said as Record<string, number>;
    const { port } = await behindEnvoy(picker, extProcPort ?? 0, tools, keep);
    return { name, port, metricsPort: metricsPort ?? 0, rounds: [] };
  };
  return [await sideOf('no shadows', []), await sideOf('8 shadows', flags)];
}

/** Names and files of configurations; starts the schedulers that the files name. */
async function shadowConfigs(keep: Keep): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-bench-shadows-'));
  keep({ stop: async () => rmSync(folder, { recursive: true }) });
  const command = await exampleCommand('typescript', console.error);
  if ('unavailable' in command) throw new Error(command.unavailable);
  const files: string[] = [];
  for (let at = 0; at < REMOTE; at++) {
    const { address } = keep(await startScheduler(command));
    const file = join(folder, `remote-${at}.yaml`);
    const kind = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
    writeFileSync(file, JSON.stringify({ ...kind, scheduler: { type: 'remote', address } }));
    files.push(file);
  }
  return [...IN_PROCESS, ...files];
}

async function round(
  { port, rounds }: Side,
  { perSecond, seconds }: Pick<LiveOptions, 'perSecond' | 'seconds'>,
): Promise<void> {
  const latencies: number[] = [];
  const random = seededRandom(1).fork(`round ${rounds.length}`);
  const next = createPrompts({ bodyBytes: BODY_BYTES, stream: false, random });
  const load = startOpenLoop({ port, perSecond, next, onLatency: (ms) => latencies.push(ms) });
  await sleep(seconds * 1000);
  load.stop();
  const { failed, skipped } = load.counts();
  if (failed + skipped > 0) throw new Error(`${failed} requests failed, ${skipped} were not sent`);
  rounds.push(latencies);
}

interface Figure {
  readonly name: string;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The median of the rounds' 99th percentiles. */
  readonly p99MedianMs: number;
  readonly p99QuietestMs: number;
}

async function outcomeOf(sides: readonly [Side, Side], options: LiveOptions): Promise<Outcome> {
  const { perSecond, seconds, rounds } = options;
  const figures = sides.map(figureOf);
  const url = `http://127.0.0.1:${sides[1].metricsPort}/debug/shadows`;
  const { shadows } = (await (await fetch(url)).json()) as { shadows: readonly ShadowStatus[] };
  const fates = shadows.map(({ parity, restarts, dropped }) => ({
    decisions: parity?.all.decisions ?? 0,
    undecided: parity?.replacement?.undecided ?? 0,
    restarts,
    dropped,
  }));
  const lines = figures.map(({ name, requests, ...ms }) =>
    [
      name.padEnd(12),
      String(requests).padStart(9),
      ...[ms.p50Ms, ms.p99Ms, ms.p99MedianMs, ms.p99QuietestMs].map((each) =>
        each.toFixed(2).padStart(9),
      ),
    ].join(' '),
  );
  const text = [
    `${perSecond} requests/s of 4 KB through a real Envoy, ${rounds} rounds of ${seconds} s each, in turn; ms`,
    'picker        requests       p50       p99  median p99  quietest',
    ...lines,
    ...fates.map((fate, at) => `shadow ${at + 1}: ${JSON.stringify(fate)}`),
    '',
  ].join('\n');
  return { document: { perSecond, seconds, rounds, figures, shadows: fates }, text };
}

function figureOf({ name, rounds }: Side): Figure {
  const all = rounds.flat();
  const each = rounds
    .map((latencies) => quantile(sorted(latencies), 0.99))
    .toSorted((a, b) => a - b);
  return {
    name,
    requests: all.length,
    p50Ms: quantile(sorted(all), 0.5),
    p99Ms: quantile(sorted(all), 0.99),
    p99MedianMs: each[each.length >> 1] ?? Number.NaN,
    p99QuietestMs: each[0] ?? Number.NaN,
  };
}
