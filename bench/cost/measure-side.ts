import { setTimeout as sleep } from 'node:timers/promises';
import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import type { Side } from '../load/bed.ts';
import { type Load, type LoadCounts, startClosedLoop, startOpenLoop } from '../load/load.ts';
import { type Figures, p50And99 } from './figures.ts';
import { type CpuTimes, processCpuTimes, residentMb } from './proc.ts';
import type { CostRow } from './row.ts';

/** One round of one side. */
export interface Round {
  readonly figures: Figures;
  readonly completed: number;
  readonly failed: number;
  readonly pieces: number;
  readonly scrapes: number;
  readonly seconds: number;
}

export interface SideOptions {
  readonly side: Side;
  /** How many metrics pages the model servers have served so far. */
  readonly scrapes: () => Promise<number>;
  /** Other sides are measured in turn with this one, which stands still meanwhile. */
  readonly inTurn: boolean;
  readonly row: CostRow;
  readonly next: () => Buffer;
  readonly windowMs: number;
}

/** Full collections are given for so long. */
const COLLECTIONS_MS = 10_000;

/** A side is healthy where nothing fails for so long. */
const HEALTHY_MS = 300;
const HEALTHY_ATTEMPTS_MAX = 60;

/** Other sides stand still meanwhile: they would scrape and take CPU from the measured one. */
export async function measureSide(options: SideOptions): Promise<Round> {
  const { side, inTurn, row, next } = options;
  side.resume();
  const latencies: number[] = [];
  const load = startLoad(side, row, { next, onLatency: (ms) => void latencies.push(ms) });
  try {
    await sleep(row.settleMs);
    await untilHealthy(load);
    return await measureWindow(options, load, latencies);
  } finally {
    load?.stop();
    if (inTurn) side.pause();
  }
}

/**
 * Envoy's health checks take a side that was paused for long out, and see only later that it is
 * back.
 */
async function untilHealthy(load: Load | undefined): Promise<void> {
  if (load === undefined) return;
  for (let attempt = 0; attempt < HEALTHY_ATTEMPTS_MAX; attempt++) {
    const { failed } = load.counts();
    await sleep(HEALTHY_MS);
    if (load.counts().failed === failed) return;
  }
}

async function measureWindow(
  { side, scrapes: scrapesSoFar, row, windowMs }: SideOptions,
  load: Load | undefined,
  latencies: number[],
): Promise<Round> {
  const scrapesBefore = await scrapesSoFar();
  const before = sample(side, load);
  latencies.length = 0;
  await sleep(windowMs);
  const after = sample(side, load);
  const scrapes = (await scrapesSoFar()) - scrapesBefore;
  const completed = after.completed - before.completed;
  const pieces = after.pieces - before.pieces;
  const wallMs = after.at - before.at;
  const requests = row.load.kind === 'streams' ? pieces / row.answerChunks : completed;
  const divisor = load === undefined ? wallMs : requests;
  const userCost = (after.userMs - before.userMs) / divisor;
  const systemCost = (after.systemMs - before.systemMs) / divisor;
  const collections = after.collections - before.collections;
  return {
    figures: {
      cost: userCost + systemCost,
      userCost,
      systemCost,
      ...p50And99(latencies),
      residentMb: residentMb(side.pid),
      ...(row.collections === true && { collections: (collections * COLLECTIONS_MS) / wallMs }),
      ...(row.page !== 'small' && (await sampleAge(side))),
    },
    completed,
    failed: after.failed - before.failed,
    pieces,
    scrapes,
    seconds: wallMs / 1000,
  };
}

async function sampleAge(side: Side): Promise<Figures> {
  const ages = await side.sampleAges();
  return ages.length === 0 ? {} : { sampleAgeMs: quantile(sorted(ages), 0.99) };
}

interface Sampled extends LoadCounts, CpuTimes {
  readonly collections: number;
  readonly at: number;
}

function sample(side: Side, load: Load | undefined): Sampled {
  const counts = load?.counts() ?? { completed: 0, failed: 0, pieces: 0, skipped: 0 };
  const collections = side.collections();
  return { ...counts, ...processCpuTimes(side.pid), collections, at: performance.now() };
}

function startLoad(
  { port }: Side,
  { load }: CostRow,
  { next, onLatency }: { readonly next: () => Buffer; readonly onLatency: (ms: number) => void },
): Load | undefined {
  switch (load.kind) {
    case 'closed':
    case 'streams':
      return startClosedLoop({ port, connections: load.connections, next });
    case 'open':
      return startOpenLoop({ ...load, port, next, onLatency });
    case 'idle':
    case 'start':
      return undefined;
  }
}
