import { medianOf } from '../../toggle/ratio.ts';
import { type FigureName, type Figures, summarize } from '../figures.ts';
import type { Round } from '../measure-side.ts';

/** A median, and between which values it is with 95 %. */
export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** What a row's pickers are compared by: the turns of both sides, of each pair of processes. */
export type Beside = readonly {
  readonly ours: readonly Round[];
  readonly other: readonly Round[];
}[];

/**
 * With fewer answers the CPU of a turn says little: it is counted in steps of 10 ms, and of the
 * requests under way at the beginning and at the end it has a part.
 */
const ANSWERS_MIN = 10;

/**
 * The CPU of a request over that of the other picker in the turn beside it: the median of all
 * turns. Its interval is that of the median, widened to the medians of the pairs of processes, as
 * two processes of the same program differ by several percent. Undefined without turns that have
 * it.
 */
export function cpuRatio(pairs: Beside, name: FigureName): Interval | undefined {
  const byPair = pairs
    .map(({ ours, other }) =>
      ours.flatMap((round, turn) => {
        const ratio = cpuOf(round, name) / cpuOf(other[turn], name);
        return Number.isFinite(ratio) ? [ratio] : [];
      }),
    )
    .filter((ratios) => ratios.length > 0);
  if (byPair.length === 0) return undefined;
  const all = medianOf(byPair.flat());
  const medians = byPair.map((ratios) => medianOf(ratios).median);
  return {
    median: all.median,
    low: Math.min(all.low, ...medians),
    high: Math.max(all.high, ...medians),
  };
}

/** The median over all turns of the CPU of a request; undefined where no turn has it. */
export function medianCpu(rounds: readonly Round[], name: FigureName): number | undefined {
  const values = rounds.map((round) => cpuOf(round, name)).filter(Number.isFinite);
  return values.length === 0 ? undefined : summarize(values).median;
}

/** NaN where the turn does not have it. */
function cpuOf(round: Round | undefined, name: FigureName): number {
  if (round === undefined || round.completed < ANSWERS_MIN) return Number.NaN;
  return round.figures[name] ?? Number.NaN;
}

/** p50 and p99 of each turn without those of the turn beside it that had no picker. */
export function addedBy(
  rounds: readonly Round[],
  without: readonly Round[],
): Pick<Figures, 'p50Ms' | 'p99Ms'> {
  const added = (name: 'p50Ms' | 'p99Ms'): Figures => {
    const values = rounds.flatMap(({ figures }, turn) => {
      const ms = (figures[name] ?? Number.NaN) - (without[turn]?.figures[name] ?? Number.NaN);
      return Number.isFinite(ms) ? [ms] : [];
    });
    return values.length === 0 ? {} : { [name]: summarize(values).median };
  };
  return { ...added('p50Ms'), ...added('p99Ms') };
}
