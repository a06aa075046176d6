import { setTimeout as sleep } from 'node:timers/promises';
import { sorted } from '../../src/lab/run-summary/statistics.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type Bed, type Side, startBed, type Tools } from '../load/bed.ts';
import { type Load, type LoadCounts, startClosedLoop, startOpenLoop } from '../load/load.ts';
import { createPrompts } from '../load/prompts.ts';
import { processCpuMs } from './cpu.ts';
import type { CostRow, RowLoad } from './rows.ts';
export interface Timing {
  /** Before the first round: compiles code, opens connections and fills the prefix index. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  readonly rounds: number;
}

/** Median and extremes of the rounds of one side. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface SideResult {
  /** CPU ms of the ext_proc server per request, or its cores in a row without requests. */
  readonly cost: Summary;
  readonly perSecond: number;
  /** Metrics pages fetched from all endpoints together. */
  readonly scrapesPerSecond: number;
  /** Share of requests that did not get a 2xx. */
  readonly failedShare: number;
  /** Chunks of an answer at the client. */
  readonly chunksPerAnswer: number;
}

export interface RowResult {
  readonly row: CostRow;
  readonly ours: SideResult;
  /** The yardstick, or the picker of another checkout. */
  readonly other: SideResult | undefined;
}

interface Round {
  readonly cost: number;
  readonly completed: number;
  readonly failed: number;
  readonly pieces: number;
  readonly scrapes: number;
  readonly seconds: number;
}

/** Go code is already compiled; its warm-up only opens connections. */
const COMPILED_WARM_UP_MS = 1000;
const SEED = 20_260;

/**
 * Starts what the row needs, measures both sides in turn (ours, the other, ours, …), and stops
 * everything.
 */
export async function measureRow(row: CostRow, timing: Timing, tools: Tools): Promise<RowResult> {
  const bed = await startBed(row, tools);
  try {
    const sides = [bed.ours, ...(bed.other === undefined ? [] : [bed.other])];
    const besidePicker = tools.other?.kind === 'picker';
    // The yardstick does not scrape: there is nothing to compare in a row without requests.
    const compared = row.load.kind === 'idle' && !besidePicker ? [bed.ours] : sides;
    const rounds = new Map<Side, Round[]>(compared.map((side) => [side, []]));
    const next = promptsOf(row);
    if (bed.other !== undefined) for (const side of sides) side.pause();
    for (const side of compared) {
      const compiled = side !== bed.ours && !besidePicker;
      const windowMs = compiled ? COMPILED_WARM_UP_MS : timing.warmUpMs;
      await measureSide({ side, bed, row, next, windowMs });
    }
    for (let index = 0; index < timing.rounds; index++) {
      for (const [side, done] of rounds) {
        done.push(await measureSide({ side, bed, row, next, windowMs: timing.windowMs }));
      }
    }
    const [ours, other] = [...rounds.values()].map(sideResult);
    if (ours === undefined) throw new Error(`row ${row.id} was not measured`);
    return { row, ours, other };
  } finally {
    await bed.stop();
  }
}

/** The other side is paused meanwhile: it would scrape and take CPU from the measured one. */
async function measureSide(options: {
  readonly side: Side;
  readonly bed: Bed;
  readonly row: CostRow;
  readonly next: () => Buffer;
  readonly windowMs: number;
}): Promise<Round> {
  const { side, bed, row, next, windowMs } = options;
  side.resume();
  const load = startLoad(side, row.load, next);
  try {
    await sleep(row.settleMs);
    const scrapesBefore = await bed.scrapes();
    const before = sample(side, load);
    await sleep(windowMs);
    const after = sample(side, load);
    const scrapes = (await bed.scrapes()) - scrapesBefore;
    const cpuMs = after.cpuMs - before.cpuMs;
    const wallMs = after.at - before.at;
    const completed = after.completed - before.completed;
    return {
      cost: load === undefined ? cpuMs / wallMs : cpuMs / completed,
      completed,
      failed: after.failed - before.failed,
      pieces: after.pieces - before.pieces,
      scrapes,
      seconds: wallMs / 1000,
    };
  } finally {
    load?.stop();
    if (bed.other !== undefined) side.pause();
  }
}

function sample(
  { pid }: Side,
  load: Load | undefined,
): LoadCounts & { readonly cpuMs: number; readonly at: number } {
  const counts = load?.counts() ?? { completed: 0, failed: 0, pieces: 0, skipped: 0 };
  return { ...counts, cpuMs: processCpuMs(pid), at: performance.now() };
}

function startLoad(side: Side, load: RowLoad, next: () => Buffer): Load | undefined {
  const { port } = side;
  switch (load.kind) {
    case 'closed':
      return startClosedLoop({ port, connections: load.connections, next });
    case 'open':
      return startOpenLoop({ port, perSecond: load.perSecond, next });
    case 'idle':
      return undefined;
  }
}

function promptsOf({ load, answerChunks }: CostRow): () => Buffer {
  if (load.kind === 'idle') return () => Buffer.alloc(0);
  const random = seededRandom(SEED);
  return createPrompts({ bodyBytes: load.bodyBytes, stream: answerChunks > 0, random });
}

/** Throws if there are no values. */
export function summarize(values: readonly number[]): Summary {
  const ordered = sorted(values);
  const low = ordered[Math.floor((ordered.length - 1) / 2)];
  const high = ordered[Math.ceil((ordered.length - 1) / 2)];
  if (low === undefined || high === undefined) throw new Error('a summary needs a round');
  return { median: (low + high) / 2, min: Math.min(...values), max: Math.max(...values) };
}

function sideResult(rounds: readonly Round[]): SideResult {
  const sum = (pick: (round: Round) => number): number =>
    rounds.reduce((total, round) => total + pick(round), 0);
  const completed = sum((round) => round.completed);
  const failed = sum((round) => round.failed);
  const seconds = sum((round) => round.seconds);
  return {
    cost: summarize(rounds.map((round) => round.cost)),
    perSecond: completed / seconds,
    scrapesPerSecond: sum((round) => round.scrapes) / seconds,
    failedShare: failed === 0 ? 0 : failed / (completed + failed),
    chunksPerAnswer: completed === 0 ? 0 : sum((round) => round.pieces) / completed,
  };
}
