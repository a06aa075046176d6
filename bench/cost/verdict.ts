import { atMost, type Bound, boundText } from './bounds.ts';
import type { RowResult } from './measure-row.ts';
import { type CostRow, unitOf } from './row.ts';

/** A row with a larger share of failed requests measures failures, not cost. */
export const FAILED_SHARE_MAX = 0.001;

export interface Verdict {
  /** False where a bound is missed or requests failed; true where a bound could not be measured. */
  readonly holds: boolean;
  readonly text: string;
}

/**
 * Whether what is asked of a row holds. `all` has the rows of the run: a bound may name another.
 */
export function verdictOf(result: RowResult, all: readonly RowResult[]): Verdict {
  const { row, ours, other } = result;
  const failed = Math.max(ours.failedShare, other?.failedShare ?? 0);
  if (!(failed <= FAILED_SHARE_MAX)) {
    return { holds: false, text: `${(100 * failed).toFixed(1)} % of the requests failed` };
  }
  const missed: string[] = [];
  const unknown: string[] = [];
  for (const bound of boundsOf(row)) {
    const value = valueOf(bound, result, all);
    const text = boundText(bound, unitOf(row));
    if (value === undefined) unknown.push(text);
    else if (!(value <= bound.max)) missed.push(`${text} is ${Number(value.toPrecision(3))}`);
  }
  if (missed.length > 0) return { holds: false, text: `no: ${missed.join(', ')}` };
  return { holds: true, text: unknown.length > 0 ? `not measured: ${unknown.join(', ')}` : 'yes' };
}

/** What is asked of a row, for the table; an empty text where nothing is. */
export function askedOf(row: CostRow): string {
  return boundsOf(row)
    .map((bound) => boundText(bound, unitOf(row)))
    .join(', ');
}

/** The reference picker's figure is a bound as well. */
function boundsOf({ asked, reference }: CostRow): readonly Bound[] {
  return reference === undefined ? asked : [...asked, atMost('cost', reference)];
}

/** What the bound's `max` is compared with; undefined where it was not measured. */
function valueOf(
  { figure, times }: Bound,
  { ours, other }: RowResult,
  all: readonly RowResult[],
): number | undefined {
  const value = ours.figures[figure]?.median;
  if (times === undefined || value === undefined) return value;
  const beside = times === 'echo' ? other : all.find(({ row }) => row.id === times.row)?.ours;
  const base = beside?.figures[figure]?.median;
  return base === undefined ? undefined : value / base;
}
