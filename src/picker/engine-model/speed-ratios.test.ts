import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { SpeedRatios } from './speed-ratios.ts';

/** About `factors[slot]` times as slow as predicted. */
function observed(factors: readonly number[], answers: number, seed = 1): SpeedRatios {
  const random = seededRandom(seed);
  const ratios = new SpeedRatios();
  for (let n = 0; n < answers; n++) {
    factors.forEach((factor, slot) => {
      ratios.observe(slot, factor * 100 * Math.exp(random.next() - 0.5), 100);
    });
  }
  return ratios;
}

describe('SpeedRatios', () => {
  it('treats endpoints that differ by chance alone as equal', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const ratios = observed([1, 1, 1, 1, 1, 1, 1, 1], 60, seed);
      const all = Array.from({ length: 8 }, (_, slot) => ratios.ratio(slot));
      expect(Math.max(...all) / Math.min(...all), `seed ${seed}`).toBeLessThan(1.1);
    }
  });

  it('gives endpoints that clearly differ their own ratios', () => {
    const ratios = observed([1, 1, 2, 2], 100);
    expect(ratios.ratio(2) / ratios.ratio(0)).toBeGreaterThan(1.7);
    expect(ratios.ratio(2) / ratios.ratio(0)).toBeLessThan(2.3);
  });

  it('gives an endpoint without answers the ratio of the pool', () => {
    const ratios = observed([3, 3, 3], 100);
    expect(ratios.ratio(7)).toBeCloseTo(ratios.ratio(0), 6);
    expect(new SpeedRatios().ratio(0)).toBe(1);
  });

  it('hardly changes by single very slow answers', () => {
    const ratios = observed([1, 1, 1, 1], 100);
    const before = ratios.ratio(0);
    ratios.observe(0, 1e9, 100);
    expect(ratios.ratio(0) / before).toBeLessThan(1.1);
  });

  it('follows an engine that slows down, and forgets a removed one', () => {
    const ratios = observed([1, 1, 1, 1], 200);
    for (let n = 0; n < 400; n++) {
      for (const slot of [0, 1, 2, 3]) ratios.observe(slot, slot === 0 ? 400 : 100, 100);
    }
    expect(ratios.ratio(0) / ratios.ratio(1)).toBeGreaterThan(3);
    ratios.forget(0);
    expect(ratios.ratio(0)).toBeCloseTo(ratios.ratio(1), 1);
  });
});
