import { expect, test } from 'vitest';
import { mediaMatchKey } from '../src/framework/cycle-facts.ts';
import type { CycleKey } from '../src/framework/scheduling.ts';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { mmEmbeddingsCache } from './mm-embeddings-cache.ts';

/** The scores where the endpoints hold these numbers of the request's items. */
function scores(items: number, held: readonly number[], producer = ''): readonly number[] {
  const config = mmEmbeddingsCache.config.parse({ producerName: producer });
  const scorer = mmEmbeddingsCache.create(config, makeRuntime());
  const base = makeContext();
  const match = { items, matchedItems: ({ slot }: { slot: number }) => held[slot] ?? 0 };
  const expected = mediaMatchKey(producer || undefined).name;
  const get = <T>(key: CycleKey<T>): T => (key.name === expected ? (match as T) : base.get(key));
  return scorer.score(makePool(held.map(() => ({}))), { ...base, get });
}

test('[D68] scores the share of the request’s media that an endpoint was sent before', () => {
  expect(scores(4, [0, 1, 4])).toEqual([0, 0.25, 1]);
});

test('[D68] scores 0 everywhere without media', () => {
  expect(scores(0, [0, 0])).toEqual([0, 0]);
});

test('[D68] reads the producer that it names', () => {
  expect(scores(2, [1], 'mine')).toEqual([0.5]);
});
