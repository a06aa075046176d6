import { RequestTable } from './request-table.ts';
import type { IdRun } from './table/id-runs.ts';
import { NumberColumn } from './table/number-column.ts';
import { PrefixWalk } from './table/prefix-walk.ts';
import type { TraceContent, TraceRequests } from './trace.ts';

/**
 * Numbers blocks by their whole prefix, from 0 in the order in which they first occur. With `each`
 * above 1, so many blocks together have one number, and the rest of a prompt behind them has none.
 */
class PrefixNumbers {
  readonly #each: number;
  readonly #table: RequestTable;
  readonly #walk: PrefixWalk;
  /** The first number of each node of the tree. */
  readonly #first = new NumberColumn(Float64Array);
  #next = 0;

  constructor(table: RequestTable, each: number) {
    this.#table = table;
    this.#each = each;
    this.#walk = new PrefixWalk(table.tree);
  }

  /** The numbers of the request at this place; it must be asked in order. */
  of(place: number): readonly IdRun[] {
    const { nodes, ends, knownBlocks } = this.#walk.next(this.#table.nodeAt(place));
    const runs: [first: number, count: number][] = [];
    nodes.forEach((node, at) => {
      const [start, end] = [ends[at - 1] ?? 0, ends[at] as number];
      const count = Math.floor(end / this.#each) - Math.floor(start / this.#each);
      if (start >= knownBlocks) this.#first.set(node, this.take(count));
      appendRun(runs, [this.#first.get(node), count]);
    });
    return runs;
  }

  /** The first of so many numbers that nothing else gets. */
  take(count: number): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }
}

/** For each request, the numbers of its blocks. Equal ones mean the same model and text so far. */
export function* prefixNumbersOf(requests: TraceRequests): Generator<readonly IdRun[], void> {
  const table = RequestTable.of(requests);
  const numbers = new PrefixNumbers(table, 1);
  for (let place = 0; place < table.length; place++) yield numbers.of(place);
}

function appendRun(runs: [first: number, count: number][], [first, count]: IdRun): void {
  const last = runs.at(-1);
  if (count === 0) return;
  if (last !== undefined && last[0] + last[1] === first) last[1] += count;
  else runs.push([first, count]);
}

/** The block numbers of runs of consecutive ones. */
export function blockIdsOf(runs: readonly IdRun[]): number[] {
  const ids: number[] = [];
  for (const [first, count] of runs) for (let at = 0; at < count; at++) ids.push(first + at);
  return ids;
}

/**
 * For each request, the numbers of its blocks of another size, which must be a multiple of the
 * trace's own. The last block may not be full. Blocks without an id in the trace get new numbers.
 */
export function* inBlocksOf(
  blockTokens: number,
  { requests, blockTokens: ownTokens }: Pick<TraceContent, 'requests' | 'blockTokens'>,
): Generator<readonly number[], void> {
  const table = RequestTable.of(requests);
  const prefixes = new PrefixNumbers(table, blockTokens / ownTokens);
  let place = 0;
  for (const { promptTokens } of requests) {
    const ids = blockIdsOf(prefixes.of(place++));
    const missing = Math.ceil(promptTokens / blockTokens) - ids.length;
    for (let id = prefixes.take(missing), end = id + missing; id < end; id++) ids.push(id);
    yield ids;
  }
}
