import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { preble } from './preble.ts';

const scorer = preble.create(preble.config.parse({}), makeRuntime());
const request = makeRequest({ promptTokens: 640 });

function best(matchedBlocks: readonly number[], pending: readonly number[]): number {
  const load = pending.map((pendingPrefillTokens) => ({ pendingPrefillTokens }));
  const pool = makePool(pending.map(() => ({})));
  const scores = scorer.score(pool, makeContext({ request, load, matchedBlocks }));
  return scores.indexOf(Math.max(...scores));
}

describe('preble-scorer', () => {
  it('exploits: the least loaded holder of most of the prompt, however busy', () => {
    expect(best([6, 6, 0], [9000, 8000, 0])).toBe(1);
  });

  it('explores where no endpoint holds half of it: least load and own prefill together', () => {
    expect(best([5, 0, 0], [0, 0, 0])).toBe(0);
    expect(best([5, 0, 0], [400, 0, 10])).toBe(1);
  });
});
