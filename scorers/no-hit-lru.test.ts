import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { makeContext, makePool, makeRequest, makeRouted, makeRuntime } from '../test/makers.ts';
import { noHitLru } from './no-hit-lru.ts';

const pool = makePool([{}, {}, {}]);
const [first, second, third] = pool as readonly [Endpoint, Endpoint, Endpoint];

function create(): ReturnType<typeof noHitLru.create> {
  return noHitLru.create(noHitLru.config.parse({}), makeRuntime());
}

describe('no-hit-lru-scorer', () => {
  it('sends cold prompts round: first where none went, then where one went longest ago', () => {
    const scorer = create();
    expect(scorer.score(pool, makeContext())).toEqual([1, 1, 1]);
    scorer.onRouted?.(makeRouted(second));
    expect(scorer.score(pool, makeContext())).toEqual([1, 0, 1]);
    scorer.onRouted?.(makeRouted(first));
    expect(scorer.score(pool, makeContext())).toEqual([0, 0.5, 1]);
    scorer.onRouted?.(makeRouted(third));
    expect(scorer.score(pool, makeContext())).toEqual([0.5, 1, 0]);
  });

  it('gives all endpoints one score for a prompt that is cached anywhere', () => {
    const scorer = create();
    scorer.onRouted?.(makeRouted(second));
    const context = makeContext({ matchedBlocks: [0, 0, 3] });
    expect(scorer.score(pool, context)).toEqual([0.5, 0.5, 0.5]);
  });

  it('does not count requests that hit a cache', () => {
    const scorer = create();
    scorer.onRouted?.(makeRouted(second, { cachedTokens: 64 }));
    expect(scorer.score(pool, makeContext())).toEqual([1, 1, 1]);
  });

  it('gives an endpoint without others the best score', () => {
    const scorer = create();
    scorer.onRouted?.(makeRouted(first));
    expect(scorer.score([first], makeContext())).toEqual([1]);
  });

  it('[D282] does not count a request of which another candidate holds a part', () => {
    const scorer = create();
    const request = makeRequest();
    scorer.score(pool, makeContext({ request, matchedBlocks: [3, 0, 0] }));
    scorer.onRouted?.(makeRouted(second, { request, cachedTokens: 0 }));
    expect(scorer.score(pool, makeContext())).toEqual([1, 1, 1]);
  });

  it('[D282] ranks among all endpoints that got a cold request, down to 0', () => {
    const scorer = create();
    for (const endpoint of [first, second, third]) scorer.onRouted?.(makeRouted(endpoint));
    expect(scorer.score([second, third], makeContext())).toEqual([0, 0]);
    scorer.onRouted?.(makeRouted(first));
    expect(scorer.score([second, third], makeContext())).toEqual([1, 0]);
    expect(noHitLru.config.parse({ lruSize: 0 })).toMatchObject({ lruSize: 1024 });
  });
});
