import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type Side, startBed, type Tools } from '../load/bed.ts';
import { createPrompts } from '../load/prompts.ts';
import { type Figures, type Summaries, summarizeAll } from './figures.ts';
import { measureSide, type Round } from './measure-side.ts';
import { measureStart } from './measure-start.ts';
import { type CostRow, isIdle } from './row.ts';

export interface Timing {
  /** Before the first round: compiles code, opens connections and fills the prefix index. */
  readonly warmUpMs: number;
  /**
   * Warm-up goes on until a picker has answered so many requests, for WARM_UP_WINDOWS times
   * `warmUpMs` at most: V8 compiles what ran often, not what ran long.
   */
  readonly warmUpRequests: number;
  readonly windowMs: number;
  readonly rounds: number;
}

/**
 * For two pickers that never pause. A shared machine changes its speed by a fifth within seconds:
 * rounds that take turns this fast see the same machine.
 */
const FAST_TURNS = { windowMs: 600, roundsPerRound: 5 };

export interface SideResult {
  /**
   * `cost` is CPU ms of the ext_proc server per request, or its cores in a row without requests.
   */
  readonly figures: Summaries;
  readonly rounds: readonly Figures[];
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

/** Go code is already compiled; its warm-up only opens connections. */
const COMPILED_WARM_UP_MS = 1000;
const WARM_UP_WINDOWS = 4;
const SEED = 20_260;

/**
 * Starts what the row needs, measures both sides in turn (ours, the other, ours, …), and stops
 * everything.
 */
export async function measureRow(row: CostRow, timing: Timing, tools: Tools): Promise<RowResult> {
  const besidePicker = tools.other?.kind === 'picker';
  // The yardstick does not scrape: there is nothing to compare in a row without requests.
  const other = isIdle(row) && !besidePicker ? undefined : tools.other;
  const [ours, beside] =
    row.load.kind === 'start'
      ? await measureStart(row, timing.rounds, { ...tools, other })
      : await measureRounds(row, timing, { ...tools, other });
  if (ours === undefined) throw new Error(`row ${row.id} was not measured`);
  return { row, ours: sideResult(ours), other: beside && sideResult(beside) };
}

/** The rounds of ours, and those of the other side if there is one. */
async function measureRounds(
  row: CostRow,
  timing: Timing,
  tools: Tools,
): Promise<readonly (readonly Round[])[]> {
  const bed = await startBed(row, tools);
  try {
    const sides = [bed.ours, ...(bed.other === undefined ? [] : [bed.other])];
    const rounds = new Map<Side, Round[]>(sides.map((side) => [side, []]));
    const next = promptsOf(row);
    const scrapes = (): Promise<number> => bed.scrapes();
    const inTurn = bed.other !== undefined;
    const measure = (side: Side, windowMs: number): Promise<Round> =>
      measureSide({ side, scrapes, inTurn, row, next, windowMs });
    if (inTurn) for (const side of sides) side.pause();
    for (const side of sides) {
      const compiled = side !== bed.ours && tools.other?.kind !== 'picker';
      if (compiled) await measure(side, COMPILED_WARM_UP_MS);
      else await warmUpPicker(row, timing, () => measure(side, timing.warmUpMs));
    }
    const turns = turnsOf(row, timing, tools);
    for (let index = 0; index < turns.rounds; index++) {
      // Each side comes first as often as the other: the first of two is at a disadvantage.
      const ordered = index % 2 === 0 ? [...rounds] : [...rounds].toReversed();
      for (const [side, done] of ordered) done.push(await measure(side, turns.windowMs));
    }
    return [...rounds.values()];
  } finally {
    await bed.stop();
  }
}

function turnsOf(
  row: CostRow,
  { windowMs, rounds }: Timing,
  { other }: Tools,
): Pick<Timing, 'windowMs' | 'rounds'> {
  const lengthened = row.lengthened ?? 1;
  if (row.load.kind !== 'closed' || other?.kind !== 'picker') {
    return { windowMs: windowMs * lengthened, rounds };
  }
  return {
    windowMs: FAST_TURNS.windowMs * lengthened,
    rounds: FAST_TURNS.roundsPerRound * rounds,
  };
}

async function warmUpPicker(
  row: CostRow,
  { warmUpRequests }: Timing,
  warmUp: () => Promise<Round>,
): Promise<void> {
  const windows = isIdle(row) ? 1 : WARM_UP_WINDOWS;
  let answered = 0;
  for (let done = 0; done < windows && answered < warmUpRequests; done++) {
    answered += (await warmUp()).completed;
  }
}

/** Requests of the row's size, the same in each run. */
export function promptsOf({ load, answerChunks, sharedPart }: CostRow): () => Buffer {
  if (!('bodyBytes' in load)) return () => Buffer.alloc(0);
  const random = seededRandom(SEED);
  const shared = sharedPart === undefined ? {} : { sharedPart };
  return createPrompts({ bodyBytes: load.bodyBytes, stream: answerChunks > 0, random, ...shared });
}

export function sideResult(rounds: readonly Round[]): SideResult {
  const sum = (pick: (round: Round) => number): number =>
    rounds.reduce((total, round) => total + pick(round), 0);
  const completed = sum((round) => round.completed);
  const failed = sum((round) => round.failed);
  const seconds = sum((round) => round.seconds);
  return {
    figures: summarizeAll(rounds.map(({ figures }) => figures)),
    rounds: rounds.map(({ figures }) => figures),
    perSecond: completed / seconds,
    scrapesPerSecond: sum((round) => round.scrapes) / seconds,
    failedShare: failed === 0 ? 0 : failed / (completed + failed),
    chunksPerAnswer: completed === 0 ? 0 : sum((round) => round.pieces) / completed,
  };
}
