import type { ScorerLayout } from './layout.ts';

const SLOTS_FIRST = 16;

/** The last numbers of a scorer by slot, which the next are compared with; a reader builds up the same. */
export interface ScorerColumns {
  /** The scores themselves, where the scorer has no account of them. */
  often: Float64Array[];
  seldom: Float64Array[];
  /** Of `seldom`, when last written. */
  version: number;
  /** Which candidates it was written for. */
  list: number;
}

export function newColumns({ account }: ScorerLayout): ScorerColumns {
  const columns = (count: number): Float64Array[] =>
    Array.from({ length: count }, () => new Float64Array(SLOTS_FIRST).fill(Number.NaN));
  return {
    often: columns(account?.inputs.endpoints.length ?? 1),
    seldom: columns(account?.inputs.seldom.length ?? 0),
    version: Number.NaN,
    list: Number.NaN,
  };
}

/** Nothing is known of the decision before. */
export function forget(columns: ScorerColumns): void {
  for (const column of [...columns.often, ...columns.seldom]) column.fill(Number.NaN);
  columns.version = Number.NaN;
}

/** Makes room for slots below `slots`. */
export function makeRoom(columns: ScorerColumns, slots: number): void {
  if ((columns.often[0]?.length ?? slots) >= slots) return;
  const longer = (column: Float64Array): Float64Array => {
    const grown = new Float64Array(2 * slots).fill(Number.NaN);
    grown.set(column);
    return grown;
  };
  columns.often = columns.often.map(longer);
  columns.seldom = columns.seldom.map(longer);
}
