import { expect, it } from 'vitest';
import { dataParallelRank } from '../../../framework/data-parallel-rank.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import { RankedEndpoints } from './ranked-endpoints.ts';

const SIZE = 'pointsman.dev/data-parallel-size';

interface Bed {
  readonly put: (id: string, labels?: Readonly<Record<string, string>>) => void;
  readonly remove: (id: string) => void;
  /** Id, address and rank of each endpoint. */
  readonly shown: () => readonly string[];
  readonly logged: readonly string[];
  readonly pool: EndpointPool;
}

function bed(size = 1): Bed {
  const pool = new EndpointPool();
  const logged: string[] = [];
  const log = { warn: (_: object, message: string): void => void logged.push(message) };
  const ranks = new RankedEndpoints({ pool, size, log });
  return {
    pool,
    logged,
    put: (id, labels = {}) =>
      ranks.upsert({
        id: id as EndpointId,
        address: `${id}:80`,
        labels: new Map(Object.entries(labels)),
      }),
    remove: (id) => ranks.remove(id as EndpointId),
    shown: () =>
      pool
        .snapshot()
        .map((each) => `${each.id} ${each.address} ${dataParallelRank(each) ?? 'all'}`),
  };
}

it('[Q322] makes each rank of a server an endpoint with its address, by a label or for all servers', () => {
  const labelled = bed();
  labelled.put('a', { [SIZE]: '2', zone: 'x' });
  labelled.put('b');
  expect(labelled.shown()).toEqual(['a-rank-0 a:80 0', 'a-rank-1 a:80 1', 'b b:80 all']);
  expect(labelled.pool.snapshot()[1]?.labels.get('zone')).toBe('x');
  const all = bed(2);
  all.put('a', { [SIZE]: '1' });
  all.put('b');
  expect(all.shown()).toEqual(['a a:80 all', 'b-rank-0 b:80 0', 'b-rank-1 b:80 1']);
});

it('[Q322] follows a server whose number of ranks changes, and one that leaves', () => {
  const { put, remove, shown } = bed();
  put('a', { [SIZE]: '2' });
  put('a', { [SIZE]: '3' });
  expect(shown()).toEqual(['a-rank-0 a:80 0', 'a-rank-1 a:80 1', 'a-rank-2 a:80 2']);
  put('a');
  expect(shown()).toEqual(['a a:80 all']);
  put('a', { [SIZE]: '2' });
  expect(shown()).toEqual(['a-rank-0 a:80 0', 'a-rank-1 a:80 1']);
  remove('a');
  expect(shown()).toEqual([]);
});

it('[Q322] keeps the ranks of a server as they are where another label changes', () => {
  const { put, pool } = bed(2);
  put('a');
  const slots = pool.snapshot().map(({ slot }) => slot);
  put('a', { zone: 'y' });
  expect(pool.snapshot().map(({ slot }) => slot)).toEqual(slots);
  expect(pool.snapshot().every(({ labels }) => labels.get('zone') === 'y')).toBe(true);
});

it.each(['0', '-1', '2.5', '257', 'x', ''])(
  '[Q322] takes a server whose label says %j as one',
  (text) => {
    const { put, shown, logged } = bed();
    put('a', { [SIZE]: text });
    expect(shown()).toEqual(['a a:80 all']);
    expect(logged).toEqual(['the label is no number from 1 to 256; it counts as 1']);
  },
);

it('[Q322] takes a server with a sidecar as one: the header would reach servers of other stages', () => {
  const { put, shown } = bed(2);
  put('a', { 'llm-d.ai/role': 'decode' });
  expect(shown()).toEqual(['a a:80 all']);
});

it('[Q322] bounds the ranks of a pool, and takes what is beyond as one endpoint', () => {
  const { put, remove, shown, logged } = bed(256);
  for (let n = 0; n < 9; n++) put(`s${n}`);
  expect(shown()).toHaveLength(8 * 256 + 1);
  expect(logged).toHaveLength(1);
  remove('s0');
  put('s8');
  expect(shown()).toHaveLength(8 * 256);
});

it.each([
  ['first', ['a-rank-1', 'a']],
  ['last', ['a', 'a-rank-1']],
])(
  '[V614] an endpoint keeps a listed id that a rank of another would have, listed %s',
  (_when, ids) => {
    const { put, remove, shown } = bed();
    for (const id of ids) put(id, id === 'a' ? { [SIZE]: '2' } : {});
    const both = ['a-rank-0 a:80 0', 'a-rank-01 a:80 1', 'a-rank-1 a-rank-1:80 all'];
    expect(shown().toSorted()).toEqual(both);
    put('a', { [SIZE]: '2', zone: 'x' });
    expect(shown().toSorted()).toEqual(both);
    remove('a-rank-1');
    expect(shown().toSorted()).toEqual(['a-rank-0 a:80 0', 'a-rank-01 a:80 1']);
    remove('a');
    expect(shown()).toEqual([]);
  },
);

it('[V614] a server of several ranks takes no rank of another away, whose id it has', () => {
  const { put, remove, shown } = bed(2);
  put('a');
  put('a-rank-1');
  expect(shown()).toHaveLength(4);
  remove('a-rank-1');
  expect(shown().map((each) => each.split(' ').slice(1).join(' '))).toEqual(['a:80 0', 'a:80 1']);
  remove('a-rank-0');
  expect(shown()).toHaveLength(2);
});
