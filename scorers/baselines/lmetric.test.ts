import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { lmetric } from './lmetric.ts';

describe('lmetric-scorer', () => {
  it('multiplies the tokens to prefill with the batch size', () => {
    const scorer = lmetric.create(lmetric.config.parse({}), makeRuntime());
    const context = makeContext({
      request: makeRequest({ promptTokens: 640 }),
      // 640 × 1, (360 + 640) × 2, 320 × 4 and 640 × 8.
      load: [{}, { pendingPrefillTokens: 360, requests: 1 }, { requests: 3 }, { requests: 7 }],
      matchedBlocks: [0, 0, 5, 0],
    });
    expect(scorer.score(makePool([{}, {}, {}, {}]), context)).toEqual([1, 0.32, 0.5, 0.125]);
  });
});
