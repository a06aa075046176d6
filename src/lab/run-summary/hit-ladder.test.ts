import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { readPool } from '../simulate/pool-file.ts';
import type { TraceRequest } from '../traces/trace.ts';

import { BINS, hitLadder } from './hit-ladder.ts';

const BLOCK_TOKENS = 64;

function request(atMs: number, blockIds: readonly string[], outputTokens = 1): TraceRequest {
  return { atMs, model: 'm', promptTokens: blockIds.length * BLOCK_TOKENS, outputTokens, blockIds };
}

/** A hundred conversations of growing prompts, in any order. */
function conversations(seed: number): readonly TraceRequest[] {
  const random = seededRandom(seed);
  const turns = Array.from({ length: 100 }, () => 0);
  return Array.from({ length: 1000 }, (_, n) => {
    const who = Math.floor(random.next() * turns.length);
    turns[who] = (turns[who] ?? 0) + 1;
    const blocks = Array.from({ length: 4 * (turns[who] ?? 0) }, (_unused, at) => `${who} ${at}`);
    return request(n * 100, blocks);
  });
}

const pool = (kvTokens: number, count: number) =>
  readPool(`servers: [{ count: ${count}, kvTokens: ${kvTokens} }]`, 'test');

describe('the ladder of what caches could find', () => {
  it('counts by hand: a prompt that comes again is found, unless its cache has forgotten', () => {
    const requests = [request(0, ['a', 'b']), request(1, ['c', 'd']), request(2, ['a', 'b'])];
    const work = { requests, blockTokens: BLOCK_TOKENS };
    const { ideal, capacityLimited } = hitLadder(work, pool(2 * BLOCK_TOKENS, 1), 1);
    expect(ideal.overall).toBeCloseTo(2 / 6);
    expect(capacityLimited?.overall).toBe(0);
    // With two such servers the second prompt goes where it drives nothing out.
    const two = hitLadder(work, pool(2 * BLOCK_TOKENS, 2), 1);
    expect([two.capacityLimited?.overall, two.perfectRouting?.overall]).toEqual([2 / 6, 2 / 6]);
  });

  it('falls from rung to rung', () => {
    for (const seed of [1, 2, 3]) {
      const work = { requests: conversations(seed), blockTokens: BLOCK_TOKENS };
      const { ideal, capacityLimited, perfectRouting } = hitLadder(work, pool(40_000, 4), 1000);
      const [one = 0, two = 0, three = 0] = [ideal, capacityLimited, perfectRouting].map(
        (rate) => rate?.overall,
      );
      expect(one, `seed ${seed}`).toBeGreaterThan(two);
      // LRU eviction is not optimal, so the separate caches find a little more at times.
      expect(two, `seed ${seed}`).toBeGreaterThan(0.98 * three);
      expect(three, `seed ${seed}`).toBeGreaterThan(0);
      expect(ideal.spans).toHaveLength(BINS);
    }
  });

  it('has its first rung alone where the memory is not known', () => {
    const work = { requests: conversations(1), blockTokens: BLOCK_TOKENS };
    expect(hitLadder(work, undefined, 1000)).toMatchObject({
      capacityLimited: undefined,
      perfectRouting: undefined,
    });
  });
});
