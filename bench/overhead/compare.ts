import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { processCpuMs } from '../cost/proc.ts';
import type { Side, Tools } from '../load/bed.ts';
import { startClosedLoop } from '../load/load.ts';
import { createPrompts } from '../load/prompts.ts';
import { type Pair, startPair } from './pair.ts';

export interface Comparison {
  readonly endpoints: number;
  readonly flags: { readonly without: readonly string[]; readonly with: readonly string[] };
  /** Pairs of processes: each is compiled anew, and no two alike. */
  readonly beds: number;
  /** Each pair has this many windows with the feature and as many without. */
  readonly rounds: number;
  readonly windowMs: number;
  readonly warmUpMs: number;
  /** Begins what is with one side and no flag. */
  readonly attach?: (pair: Pair) => Promise<Attached>;
}

export interface Attached {
  /**
   * A process that has work by the side with the feature. What it takes more in the windows of that
   * side belongs to the feature's cost.
   */
  readonly pid?: number;
  stop(): void;
}

export interface Overhead {
  /** CPU of the picker for each request, from the operating system: medians of the windows. */
  readonly withoutMs: number;
  readonly withMs: number;
  /** What it costs more, as a share: median and quartiles of all pairs of windows. */
  readonly share: { readonly median: number; readonly lower: number; readonly upper: number };
  readonly pairs: number;
  readonly requests: number;
  readonly failed: number;
}

/**
 * Saturates a picker with requests of 1 KB, where what is the same for every request weighs most.
 */
const CONNECTIONS = 16;
const BODY_BYTES = 1024;
const SETTLE_MS = 300;
const SEED = 20_261;

interface Window {
  readonly cpuMs: number;
  /** CPU of the attached process; 0 without one. */
  readonly besideMs: number;
  readonly completed: number;
  readonly failed: number;
}

/**
 * Measures both in turn and changes which one is first. The side that is not measured is paused.
 * `after` is called before each bed ends.
 */
export async function compare(
  comparison: Comparison,
  tools: Tools,
  after: (pair: Pair, load: (windowMs: number) => Promise<unknown>) => Promise<void>,
): Promise<Overhead> {
  const pairs: { readonly without: Window; readonly with: Window }[] = [];
  for (let bed = 0; bed < comparison.beds; bed++) {
    const { endpoints, flags, rounds, windowMs, warmUpMs } = comparison;
    const options = { config: 'default', endpoints, page: 'small', answerChunks: 0 } as const;
    const pair = await startPair(options, flags, tools);
    const attached = await comparison.attach?.(pair);
    try {
      const prompts = { bodyBytes: BODY_BYTES, stream: false, random: seededRandom(SEED + bed) };
      const next = createPrompts(prompts);
      const measured = (side: Side, ms: number): Promise<Window> =>
        measure(side, next, { windowMs: ms, beside: attached?.pid });
      pair.without.pause();
      pair.with.pause();
      await measured(pair.without, warmUpMs);
      await measured(pair.with, warmUpMs);
      for (let round = 0; round < rounds; round++) {
        const first = round % 2 === 0 ? 'without' : 'with';
        const second = round % 2 === 0 ? 'with' : 'without';
        const one = await measured(pair[first], windowMs);
        const other = await measured(pair[second], windowMs);
        const done = { [first]: one, [second]: other };
        pairs.push(done as { readonly without: Window; readonly with: Window });
      }
      pair.with.resume();
      await after(pair, (ms) => measured(pair.with, ms).finally(() => pair.with.resume()));
    } finally {
      attached?.stop();
      await pair.stop();
    }
  }
  return overheadOf(pairs);
}

async function measure(
  side: Side,
  next: () => Buffer,
  { windowMs, beside }: { readonly windowMs: number; readonly beside: number | undefined },
): Promise<Window> {
  const besideMs = (): number => (beside === undefined ? 0 : processCpuMs(beside));
  side.resume();
  const load = startClosedLoop({ port: side.port, connections: CONNECTIONS, next });
  try {
    await sleep(SETTLE_MS);
    const before = { ...load.counts(), cpuMs: processCpuMs(side.pid), besideMs: besideMs() };
    await sleep(windowMs);
    const { completed, failed } = load.counts();
    return {
      cpuMs: processCpuMs(side.pid) - before.cpuMs,
      besideMs: besideMs() - before.besideMs,
      completed: completed - before.completed,
      failed: failed - before.failed,
    };
  } finally {
    load.stop();
    side.pause();
  }
}

function overheadOf(
  pairs: readonly { readonly without: Window; readonly with: Window }[],
): Overhead {
  const cost = ({ cpuMs, completed }: Window): number => cpuMs / completed;
  const withCost = (pair: (typeof pairs)[number]): number =>
    cost(pair.with) + (pair.with.besideMs - pair.without.besideMs) / pair.with.completed;
  const shares = pairs.map((pair) => withCost(pair) / cost(pair.without) - 1);
  const all = pairs.flatMap((pair) => [pair.without, pair.with]);
  return {
    withoutMs: quantile(
      pairs.map((pair) => cost(pair.without)),
      0.5,
    ),
    withMs: quantile(pairs.map(withCost), 0.5),
    share: {
      median: quantile(shares, 0.5),
      lower: quantile(shares, 0.25),
      upper: quantile(shares, 0.75),
    },
    pairs: pairs.length,
    requests: all.reduce((sum, { completed }) => sum + completed, 0),
    failed: all.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/** By interpolation; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (low === undefined || high === undefined) return Number.NaN;
  return low + (at - Math.floor(at)) * (high - low);
}
