import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { SpeedRatios } from './speed-ratios.ts';

/** The pool model of most tests: a hundred milliseconds, for the one feature that there is. */
const asPredicted = ([feature = 0]: readonly number[]): number => feature;
const answer = (observedMs: number) => ({ features: [100], observedMs, predictedMs: 100 });

/** About `factors[slot]` times as slow as predicted. */
function observed(factors: readonly number[], answers: number, seed = 1): SpeedRatios {
  const random = seededRandom(seed);
  const ratios = new SpeedRatios(asPredicted);
  for (let n = 0; n < answers; n++) {
    factors.forEach((factor, slot) => {
      ratios.observe(slot, answer(factor * 100 * Math.exp(random.next() - 0.5)));
    });
    ratios.update();
  }
  return ratios;
}

const EIGHT = [0, 1, 2, 3, 4, 5, 6, 7];

describe('SpeedRatios', () => {
  it('[Q195] takes endpoints that differ by chance alone to be equal, to the last digit', () => {
    const spread = (seed: number): number => {
      const ratios = observed([1, 1, 1, 1, 1, 1, 1, 1], 60, seed);
      const all = EIGHT.map((slot) => ratios.ratio(slot));
      expect(Math.max(...all) / Math.min(...all), `seed ${seed}`).toBeLessThan(1.1);
      return Math.max(...all) - Math.min(...all);
    };
    const seeds = Array.from({ length: 20 }, (_, seed) => seed + 1);
    expect(seeds.filter((seed) => spread(seed) === 0).length).toBeGreaterThanOrEqual(18);
  });

  it('gives endpoints that clearly differ their own ratios', () => {
    const ratios = observed([1, 1, 2, 2], 100);
    expect(ratios.ratio(2) / ratios.ratio(0)).toBeGreaterThan(1.7);
    expect(ratios.ratio(2) / ratios.ratio(0)).toBeLessThan(2.3);
  });

  it('[Q382] tells slow endpoints apart sooner by answers that waited for nobody', () => {
    const after = (alone: boolean): number => {
      const random = seededRandom(1);
      const ratios = new SpeedRatios(asPredicted);
      for (let n = 0; n < 6; n++) {
        [1, 1, 2, 2].forEach((factor, slot) => {
          const observedMs = factor * 100 * Math.exp(random.next() - 0.5);
          ratios.observe(slot, { ...answer(observedMs), alone });
        });
        ratios.update();
      }
      return ratios.ratio(2) / ratios.ratio(0);
    };
    expect(after(false)).toBe(1);
    expect(after(true)).toBeGreaterThan(1.4);
  });

  it('[Q383] takes a first answer that was a third slower for chance', () => {
    const ratios = new SpeedRatios(asPredicted);
    for (const slot of [0, 1, 2, 3]) {
      ratios.observe(slot, { ...answer(slot === 3 ? 135 : 100), alone: true });
    }
    ratios.update();
    expect(ratios.ratio(3)).toBe(1);
    expect(ratios.ratio(0)).toBe(1);
  });

  it('[Q393] takes what is mistaken in waits for other prompts for no difference between endpoints', () => {
    const taught = (waitedShares: readonly number[]): SpeedRatios => {
      const random = seededRandom(1);
      const ratios = new SpeedRatios(asPredicted);
      for (let n = 0; n < 200; n++) {
        waitedShares.forEach((waitedShare, slot) => {
          const factor = slot < 4 ? 1 : 1.25;
          const observedMs = factor * 100 * Math.exp(random.next() - 0.5);
          ratios.observe(slot, { ...answer(observedMs), waitedShare });
        });
        ratios.update();
      }
      return ratios;
    };
    const unlike = taught([0.3, 0.3, 0.3, 0.3, 0.9, 0.9, 0.9]);
    for (const slot of [0, 4, 6]) expect(unlike.ratio(slot)).toBe(1);
    const alike = taught([0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]);
    expect(alike.ratio(6) / alike.ratio(0)).toBeGreaterThan(1.15);
  });

  it('gives an endpoint without answers the ratio of the pool', () => {
    const ratios = observed([3, 3, 3], 100);
    expect(ratios.ratio(7)).toBeCloseTo(ratios.ratio(0), 6);
    expect(new SpeedRatios(asPredicted).ratio(0)).toBe(1);
  });

  it('hardly changes by single very slow answers', () => {
    const ratios = observed([1, 1, 1, 1], 100);
    const before = ratios.ratio(0);
    ratios.observe(0, answer(1e9));
    ratios.update();
    expect(ratios.ratio(0) / before).toBeLessThan(1.1);
  });

  it('follows an engine that slows down, and forgets a removed one', () => {
    const ratios = observed([1, 1, 1, 1], 200);
    for (let n = 0; n < 400; n++) {
      for (const slot of [0, 1, 2, 3]) ratios.observe(slot, answer(slot === 0 ? 400 : 100));
      ratios.update();
    }
    expect(ratios.ratio(0) / ratios.ratio(1)).toBeGreaterThan(3);
    ratios.forget(0);
    expect(ratios.ratio(0)).toBeCloseTo(ratios.ratio(1), 1);
  });

  it('[Q196] judges the first answers by the pool model of now, and not by the earlier one', () => {
    let msPerFeature = 1;
    const ratios = new SpeedRatios(([feature = 0]) => msPerFeature * feature);
    const observe = (slot: number, observedMs: number): void => {
      ratios.observe(slot, { features: [10], observedMs, predictedMs: 10 * msPerFeature });
      ratios.update();
    };
    observe(7, 30);
    // It has learned that engines are three times as slow as it took them to be.
    msPerFeature = 3;
    for (let n = 0; n < 30; n++) observe(0, 29 + 2 * (n % 2));
    expect(ratios.ratio(7)).toBeCloseTo(ratios.ratio(0), 2);
    expect(ratios.ratio(0)).toBeCloseTo(1, 1);
  });

  it('[Q197] forgets an endpoint that was slow once, and gets no answers while the others do', () => {
    const ratios = observed([1, 1, 1, 4], 20);
    expect(ratios.ratio(3) / ratios.ratio(0)).toBeGreaterThan(2);
    for (let n = 0; n < 10_000; n++) {
      for (const slot of [0, 1, 2]) ratios.observe(slot, answer(90 + 20 * (n % 2)));
      ratios.update();
    }
    expect(ratios.ratio(3) / ratios.ratio(0)).toBeLessThan(1.1);
  });

  it('gives finite ratios while one endpoint alone has answered lately', () => {
    const ratios = observed([1, 2], 3);
    for (let n = 0; n < 30_000; n++) ratios.observe(0, answer(100));
    ratios.update();
    for (const slot of [0, 1]) expect(ratios.ratio(slot)).toBeGreaterThan(0.2);
    for (const slot of [0, 1]) expect(ratios.ratio(slot)).toBeLessThan(5);
  });
});
