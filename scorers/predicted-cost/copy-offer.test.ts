import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRouted, makeRuntime } from '../../test/makers.ts';
import { promptOf } from '../../test/prompt-blocks.ts';
import { predictedCost } from '../predicted-cost.ts';

const BLOCKS = Array.from({ length: 100 }, (_, at) => at);

/** Two endpoints, of which the first holds 90 of a prompt's 100 blocks and is busy. */
function busyHolder(kv = 0) {
  const scorer = predictedCost.create(predictedCost.config.parse({}), makeRuntime());
  const pool = makePool([{ kv }, { kv }]);
  let number = 0;
  const context = () =>
    makeContext({
      request: makeRequest({ promptTokens: 6400, prompt: promptOf(...BLOCKS) }),
      load: [{ requests: 4, pendingPrefillTokens: 3000 }],
      totalBlocks: 100,
      matchedBlocks: [90],
    });
  /** Scores a request and sends it to the best. Returns where that is. */
  const send = (): number => {
    const asked = context();
    const scores = scorer.score(pool, asked);
    expect(scorer.score(pool, asked)).toEqual(scores);
    const at = scores.indexOf(Math.max(...scores));
    const endpoint = pool[at];
    if (endpoint === undefined) throw new Error('no endpoint has the best score');
    scorer.onRouted?.(makeRouted(endpoint, { number: number++, request: asked.request }));
    return at;
  };
  return { scorer, pool, context, send };
}

describe('a beginning that many requests have', () => {
  it('[Q252] gets a copy elsewhere once requests have lost its price, and not before', () => {
    const { send } = busyHolder();
    const sent = Array.from({ length: 12 }, send);
    const first = sent.indexOf(1);
    expect(first).toBeGreaterThan(0);
    expect(sent[first + 1]).toBe(0);
  });

  it('[Q252] does not, however often it is looked at, where no request is sent', () => {
    const { scorer, pool, context } = busyHolder();
    for (let look = 0; look < 100; look++) {
      const [holder = 0, other = 1] = scorer.score(pool, context());
      expect(holder).toBeGreaterThan(other);
    }
  });

  it('[Q253] gets none where its request would wait for memory', () => {
    const { send } = busyHolder(0.9);
    expect(Array.from({ length: 40 }, send)).not.toContain(1);
  });

  it('[Q252] says in its cost what is paid', () => {
    const { scorer, pool, context, send } = busyHolder();
    send();
    const asked = context();
    const scores = scorer.score(pool, asked);
    const costs = pool.map((endpoint) => scorer.explain?.(endpoint, asked) ?? {});
    expect(costs[0]?.['paidMs']).toBe(0);
    expect(costs[1]?.['paidMs']).toBeLessThan(0);
    const [holder = 0, other = 0] = costs.map(({ costMs = 0 }) => costMs);
    const least = Math.min(holder, other);
    expect(scores[0]).toBeCloseTo(least / holder);
    expect(scores[1]).toBeCloseTo(least / other);
  });
});
