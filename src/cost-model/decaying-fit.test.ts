import { describe, expect, it } from 'vitest';
import { seededRandom } from '../runtime/seeded-random.ts';
import { DecayingFit } from './decaying-fit.ts';

const prior = { means: [1, 1, 0], deviations: [2, 2, 20] };

describe('DecayingFit', () => {
  it('finds the coefficients that made the observations', () => {
    const random = seededRandom(3);
    const fit = new DecayingFit(prior);
    for (let n = 0; n < 500; n++) {
      const features = [400 * random.next(), 5 + 40 * random.next(), 1];
      const [a = 0, b = 0] = features;
      const value = 0.5 * a + 2 * b + 12 + (random.next() - 0.5);
      fit.observe(features, { value, deviation: 1, fading: 0.001 });
    }
    const [prefill, step, overhead] = fit.solve();
    expect(prefill).toBeCloseTo(0.5, 2);
    expect(step).toBeCloseTo(2, 1);
    expect(Math.abs((overhead ?? 0) - 12)).toBeLessThan(0.5);
  });

  it('stays at the prior for what the observations cannot separate, however many they are', () => {
    const fit = new DecayingFit(prior);
    for (let n = 0; n < 100_000; n++) {
      fit.observe([100, 0, 0], { value: 300, deviation: 10, fading: 0.005 });
    }
    const [prefill, step, overhead] = fit.solve();
    expect(prefill).toBeCloseTo(3, 1);
    expect(step).toBeCloseTo(1, 9);
    expect(overhead).toBeCloseTo(0, 9);
  });

  it('follows what changes', () => {
    const fit = new DecayingFit(prior);
    for (let n = 0; n < 2000; n++) {
      fit.observe([100, 0, 0], { value: 100, deviation: 10, fading: 0.005 });
    }
    for (let n = 0; n < 1000; n++) {
      fit.observe([100, 0, 0], { value: 400, deviation: 10, fading: 0.005 });
    }
    expect(fit.solve()[0]).toBeCloseTo(4, 1);
  });
});

describe('DecayingFit with bounds', () => {
  it('[Q372] fits the others to what is held at its bound', () => {
    const fit = new DecayingFit({ means: [1, 1], deviations: [10, 10] });
    const random = seededRandom(5);
    for (let n = 0; n < 400; n++) {
      const [a, b] = [10 * random.next(), 10 + random.next()];
      fit.observe([a, b], { value: 2 * a - b, deviation: 1, fading: 0.001 });
    }
    const [free, below] = fit.solve() as [number, number];
    expect(free).toBeCloseTo(2, 1);
    expect(below).toBeLessThan(-0.9);
    const [least, held] = fit.solveAbove([0.05, 0]) as [number, number];
    expect(held).toBe(0);
    // Least squares through 0: the sum of (2a - b) a over that of a².
    expect(least).toBeLessThan(1);
    expect(fit.solveAbove([-10, -10])).toEqual(fit.solve());
  });
});
