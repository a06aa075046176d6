import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type Side, startBed, type Tools } from '../load/bed.ts';
import { type Load, startClosedLoop, startOpenLoop } from '../load/load.ts';
import { createPrompts } from '../load/prompts.ts';
import { processCpuMs } from './cpu.ts';
import type { CostRow, RowLoad } from './rows.ts';
import { type Summary, summarize } from './summary.ts';

export interface Timing {
  /** Before the first round: code gets compiled, connections opened, the prefix index filled. */
  readonly warmUpMs: number;
  /** Before each round, after the other side's. */
  readonly settleMs: number;
  readonly windowMs: number;
  readonly rounds: number;
}

export interface SideResult {
  /** CPU ms of the ext_proc server per request, or its cores in a row without requests. */
  readonly cost: Summary;
  readonly perSecond: number;
  /** Share of requests that did not get a 2xx. */
  readonly failedShare: number;
  /** Chunks an answer came in, as the client saw it. */
  readonly chunksPerAnswer: number;
}

export interface RowResult {
  readonly row: CostRow;
  readonly ours: SideResult;
  readonly yardstick: SideResult | undefined;
}

interface Round {
  readonly cost: number;
  readonly completed: number;
  readonly failed: number;
  readonly pieces: number;
  readonly seconds: number;
}

const SEED = 20_260;

/** Starts all the row needs, measures both sides in turn (ours, yardstick, ours, …), and ends all of it. */
export async function measureRow(row: CostRow, timing: Timing, tools: Tools): Promise<RowResult> {
  const bed = await startBed(row, tools);
  try {
    const sides = [bed.ours, ...(bed.yardstick === undefined ? [] : [bed.yardstick])];
    const compared = row.load.kind === 'idle' ? [bed.ours] : sides;
    const rounds = new Map<Side, Round[]>(compared.map((side) => [side, []]));
    const next = promptsOf(row);
    for (const side of compared) side.pause();
    for (const side of compared) await measureSide(side, row.load, next, warmUpOf(timing));
    for (let index = 0; index < timing.rounds; index++) {
      for (const [side, done] of rounds) {
        done.push(await measureSide(side, row.load, next, timing));
      }
    }
    const [ours, yardstick] = [...rounds.values()].map(sideResult);
    if (ours === undefined) throw new Error(`row ${row.id} was not measured`);
    return { row, ours, yardstick };
  } finally {
    await bed.stop();
  }
}

function warmUpOf({ warmUpMs }: Timing): Omit<Timing, 'rounds' | 'warmUpMs'> {
  return { settleMs: 0, windowMs: warmUpMs };
}

/** The side that is not measured stands still: scraping goes on without requests and would cost the other one. */
async function measureSide(
  side: Side,
  load: RowLoad,
  next: () => Buffer,
  { settleMs, windowMs }: Pick<Timing, 'settleMs' | 'windowMs'>,
): Promise<Round> {
  side.resume();
  const running = startLoad(side, load, next);
  try {
    await sleep(settleMs);
    const before = running?.counts();
    const cpuBefore = processCpuMs(side.pid);
    const startedAt = performance.now();
    await sleep(windowMs);
    const cpuMs = processCpuMs(side.pid) - cpuBefore;
    const wallMs = performance.now() - startedAt;
    const after = running?.counts();
    const completed = (after?.completed ?? 0) - (before?.completed ?? 0);
    return {
      cost: running === undefined ? cpuMs / wallMs : cpuMs / completed,
      completed,
      failed: (after?.failed ?? 0) - (before?.failed ?? 0),
      pieces: (after?.pieces ?? 0) - (before?.pieces ?? 0),
      seconds: wallMs / 1000,
    };
  } finally {
    running?.stop();
    side.pause();
  }
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

function sideResult(rounds: readonly Round[]): SideResult {
  const sum = (pick: (round: Round) => number): number =>
    rounds.reduce((total, round) => total + pick(round), 0);
  const completed = sum((round) => round.completed);
  const failed = sum((round) => round.failed);
  return {
    cost: summarize(rounds.map((round) => round.cost)),
    perSecond: completed / sum((round) => round.seconds),
    failedShare: failed === 0 ? 0 : failed / (completed + failed),
    chunksPerAnswer: completed === 0 ? 0 : sum((round) => round.pieces) / completed,
  };
}
