import { saturated } from '../make-rows.ts';
import type { CostRow } from '../row.ts';

/** A row that is measured with the Go picker. */
export interface GoRow extends CostRow {
  /** What the CPU of a request may be at most, as a multiple of the Go picker's in the same run. */
  readonly overGoMax?: number;
}

/** Rows with the same pool and the same prompts: the same processes serve them one after another. */
export type GoGroup = readonly GoRow[];

const POOLS = [8, 64] as const;
const PROMPTS_KIB = [1, 32, 400] as const;
const PER_SECOND = 200;
/**
 * A picker that does not keep up has as many requests under way at the end of a turn as at its
 * beginning, so that its CPU is that of the answers. One that keeps up seldom has as many.
 */
const AT_ONCE_MAX = 32;
const OVER_GO_MAX = 0.8;
/** Large prompts are answered so slowly that a turn of usual length has few answers. */
const LARGE_KIB = 400;
const LARGE_LENGTHENED = 2;
/** Before it is looked whether requests fail, which takes longer. */
const SETTLE_MS = 100;

/** For each pool and size of prompts: as many requests as are answered, then a constant rate. */
export const GO_GROUPS: readonly GoGroup[] = POOLS.flatMap((endpoints) =>
  PROMPTS_KIB.map((kib) => groupOf(endpoints, kib)),
);

export const GO_ROWS: readonly GoRow[] = GO_GROUPS.flat();

function groupOf(endpoints: number, kib: number): GoGroup {
  const closed = {
    ...saturated({ endpoints, kib }, []),
    page: 'real',
    settleMs: SETTLE_MS,
    ...(kib >= LARGE_KIB && { lengthened: LARGE_LENGTHENED }),
  } as const;
  const { bodyBytes } = closed.load as Extract<CostRow['load'], { kind: 'closed' }>;
  return [
    closed,
    {
      ...closed,
      id: `${closed.id}-${PER_SECOND}`,
      group: 'latency',
      title: `${closed.title}, ${PER_SECOND} a second`,
      load: { kind: 'open', perSecond: PER_SECOND, bodyBytes, atOnceMax: AT_ONCE_MAX },
      lengthened: 1,
      overGoMax: OVER_GO_MAX,
    },
  ];
}
