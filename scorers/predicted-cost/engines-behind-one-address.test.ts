import { expect, it } from 'vitest';
import type { AttributeKey, Endpoint } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT } from '../../src/framework/endpoint-attributes.ts';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { predictedCost } from '../predicted-cost.ts';

const attribute = <T>(key: AttributeKey<T>, value: T): readonly [AttributeKey<never>, unknown] => [
  key as AttributeKey<never>,
  value,
];

/** An endpoint with eight engines and one with one, which has an eighth of its load. */
function eightAndOne(kv: number, cache: boolean): readonly Endpoint[] {
  const memory = cache ? [attribute(CACHE_CONFIG, { blockTokens: 16, blocks: 10_000 })] : [];
  return makePool([
    { kv, running: 80, attributes: [attribute(ENGINE_COUNT, 8), ...memory] },
    { kv, running: 10, attributes: memory },
  ]);
}

function scores(pool: readonly Endpoint[], times: number): readonly number[] {
  const scorer = predictedCost.create(predictedCost.config.parse({}), makeRuntime());
  const one = { requests: 10, pendingPrefillTokens: 4000, contextTokens: 40_000 };
  const all = {
    requests: times * one.requests,
    pendingPrefillTokens: times * one.pendingPrefillTokens,
    contextTokens: times * one.contextTokens,
  };
  const request = makeRequest({ promptTokens: 8000 });
  return scorer.score(pool, makeContext({ request, load: [all, one] }));
}

it.each([
  [0.2, true],
  [0.95, true],
  [0.95, false],
])(
  '[Q317] costs on eight engines what it costs on one with an eighth of the load, memory %d used',
  (kv, cache) => {
    const pool = eightAndOne(kv, cache);
    expect(scores(pool, 8)).toEqual([1, 1]);
    const [eight = 0, one = 0] = scores(pool, 4);
    expect(eight).toBeGreaterThan(one);
  },
);
