import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeContext, makePool, makeRuntime } from '../../test/makers.ts';
import { powerOfTwo } from './power-of-two.ts';

const scorer = powerOfTwo.create(powerOfTwo.config.parse({}), makeRuntime());
const pool = makePool([{}, {}, {}, {}, {}]);

describe('power-of-two-scorer', () => {
  it('draws two and prefers the one with fewer requests in flight', () => {
    const load = [5, 4, 3, 2, 1].map((requests) => ({ requests }));
    for (let seed = 0; seed < 50; seed++) {
      const scores = scorer.score(pool, makeContext({ load, random: seededRandom(seed) }));
      expect([...scores].sort((a, b) => a - b)).toEqual([0, 0, 0, 0.5, 1]);
      // The busier of the two stands before the other in this pool.
      expect(scores.indexOf(0.5)).toBeLessThan(scores.indexOf(1));
    }
  });

  it('gives every endpoint its turn', () => {
    const winners = new Set<number>();
    for (let seed = 0; seed < 100; seed++) {
      winners.add(scorer.score(pool, makeContext({ random: seededRandom(seed) })).indexOf(1));
    }
    expect(winners.size).toBe(5);
  });
});
