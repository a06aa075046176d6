import type { EndpointFields } from '../makers.ts';

/** A pool as `reference-default` sees it, and what the reference's formula makes of it. */
export interface DecisionTable {
  readonly what: string;
  readonly endpoints: readonly EndpointFields[];
  /** Blocks of the prompt at each endpoint, of `totalBlocks`. */
  readonly matched?: readonly number[];
  readonly totalBlocks?: number;
  /** 2 × queue + 2 × free KV memory + 3 × prefix. */
  readonly totals: readonly number[];
  /** The endpoints that the reference may pick: those with the highest total. */
  readonly picks: readonly number[];
}

const of = (waiting: number, kv: number): EndpointFields => ({ waiting, kv });

export const DECISION_TABLES: readonly DecisionTable[] = [
  {
    what: 'idle servers are equal',
    endpoints: [of(0, 0), of(0, 0), of(0, 0)],
    totals: [4, 4, 4],
    picks: [0, 1, 2],
  },
  {
    what: 'equal queues do not count, whatever their length',
    endpoints: [of(9, 0.5), of(9, 0.25)],
    totals: [3, 3.5],
    picks: [1],
  },
  {
    what: 'a cached prefix outweighs half a queue and half the memory',
    endpoints: [of(0, 0.1), of(5, 0.5), of(10, 0.2)],
    matched: [0, 8, 0],
    totals: [3.8, 4.4, 1.6],
    picks: [1],
  },
  {
    what: 'the longest queue and a whole prefix lose against no queue and no prefix',
    endpoints: [of(10, 0.6), of(0, 0)],
    matched: [10, 0],
    totals: [3.8, 4],
    picks: [1],
  },
  {
    what: 'the longest queue and a whole prefix win where memory is equal',
    endpoints: [of(100, 0), of(0, 0)],
    matched: [10, 0],
    totals: [5, 4],
    picks: [0],
  },
  {
    what: 'two servers with the same prefix are equal',
    endpoints: [of(2, 0.5), of(2, 0), of(2, 0.5)],
    matched: [4, 0, 4],
    totalBlocks: 4,
    totals: [6, 4, 6],
    picks: [0, 2],
  },
  {
    what: 'one block more decides between equals',
    endpoints: [of(1, 0.25), of(1, 0.25), of(0, 0.25)],
    matched: [30, 31, 0],
    totalBlocks: 40,
    totals: [3.75, 3.825, 3.5],
    picks: [1],
  },
  {
    what: 'memory use above 1 counts as 1',
    endpoints: [of(0, 1.2), of(0, 0.9)],
    totals: [2, 2.2],
    picks: [1],
  },
  {
    what: 'one server',
    endpoints: [of(50, 1)],
    totals: [2],
    picks: [0],
  },
  {
    what: 'a server that was never scraped is not taken for an idle one',
    endpoints: [of(3, 0.5), { sampledAt: -Infinity }, of(6, 0.5)],
    totals: [3, 0, 1],
    picks: [0],
  },
];
