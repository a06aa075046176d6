import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Tally } from './tally.ts';

describe('Tally', () => {
  it('counts a value equal to a bound below that bound, as Prometheus does', () => {
    const tally = new Tally([1, 2, 3]);
    for (const value of [0, 1, 1.5, 2, 3, 3.1, 99]) tally.observe(value);
    expect([...tally.counts]).toEqual([2, 2, 1, 2]);
    expect(tally.count).toBe(7);
    expect(tally.sum).toBeCloseTo(109.6);
  });

  it('leaves out what is not a finite number', () => {
    const tally = new Tally([1]);
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      tally.observe(value);
    }
    expect(tally.count).toBe(0);
    expect(tally.sum).toBe(0);
  });

  it('puts every value where a walk over the bounds would', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.double({ min: -10, max: 10, noNaN: true }), { maxLength: 12 }),
        fc.array(fc.double({ min: -12, max: 12, noNaN: true }), { maxLength: 20 }),
        (unsorted, values) => {
          const bounds = unsorted.toSorted((a, b) => a - b);
          const tally = new Tally(bounds);
          const expected = bounds.map(() => 0).concat(0);
          for (const value of values) {
            tally.observe(value);
            const found = bounds.findIndex((bound) => value <= bound);
            const index = found < 0 ? bounds.length : found;
            expected[index] = (expected[index] ?? 0) + 1;
          }
          expect([...tally.counts]).toEqual(expected);
        },
      ),
      { seed: 20_261_121 },
    );
  });
});
