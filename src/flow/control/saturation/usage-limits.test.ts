import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Gate } from './gate.ts';
import { explicitLimit, holdback, softReflective, staticLimit } from './usage-limits.ts';

describe('usage limits', () => {
  test('[Q52] static-usage-limit-policy has one ceiling for all bands', () => {
    expect(staticLimit(0.9).ceilings(2, [1, 0, -1])).toEqual([0.9, 0.9, 0.9]);
  });

  test('[D605] a ceiling below 0 serves no band, as one of 0', () => {
    const pool = { effective: 0, stages: new Map() };
    for (const threshold of [-1, 0]) {
      const gate = new Gate(() => pool, staticLimit(threshold));
      gate.look([], [1, 0], 0);
      expect([gate.isOpen(0), gate.isOpen(1)]).toEqual([false, false]);
    }
  });

  test('[Q52] priority-holdback-policy steps down by rank, by value, or as written', () => {
    const range = { minCeiling: 0.4, maxCeiling: 0.9 };
    const byRank = holdback({ ...range, domain: 'rank' });
    expect(byRank.ceilings(0, [100, 0, -10]).map((each) => Math.round(each * 100))).toEqual([
      90, 65, 40,
    ]);
    const byValue = holdback({ ...range, domain: 'value' });
    expect(byValue.ceilings(0, [100, 0]).map((each) => Math.round(each * 100))).toEqual([90, 40]);
    expect(byValue.ceilings(0, [100, 50, 0])[1]).toBeCloseTo(0.65);
    for (const limit of [byRank, byValue]) expect(limit.ceilings(0, [7])).toEqual([0.9]);
    const written = explicitLimit(new Map([[100, 0.95]]));
    expect(written.ceilings(0, [100, 5])).toEqual([0.95, 0]);
  });

  test('[Q52] soft-reflective-ceiling-policy opens gated bands in one of several calls', () => {
    const limit = softReflective();
    const calls = (saturation: number, count: number): readonly (readonly number[])[] =>
      Array.from({ length: count }, () => limit.ceilings(saturation, [2, 1, 0]));
    // Ceilings at 0.3: 1, 0.85 and 0.7.
    expect(calls(0.3, 1)).toEqual([[1, 1, 1]]);
    // At 0.75 the ceilings are 1, 0.625 and 0.25; the gated bands are open in one of three calls.
    expect(calls(0.75, 6).filter(([, second, third]) => second === 1 && third === 1)).toHaveLength(
      2,
    );
    expect(calls(1, 2)).toEqual([
      [1, 0, 0],
      [1, 0, 0],
    ]);
    expect(softReflective().ceilings(0.9, [5])).toEqual([1]);
    // Of four bands the second has the ceiling 0.75, and is gated from there on.
    expect(softReflective().ceilings(0.75, [3, 2, 1, 0])).toEqual([1, 0, 0, 0]);
  });

  test('[Q52] no policy gives a lower band a higher ceiling', () => {
    const policies = [
      staticLimit(0.8),
      holdback({ minCeiling: 0.2, maxCeiling: 1, domain: 'rank' }),
      holdback({ minCeiling: 0.2, maxCeiling: 1, domain: 'value' }),
      softReflective(),
    ];
    const priorities = fc.uniqueArray(fc.integer({ min: -100, max: 100 }), { maxLength: 6 });
    fc.assert(
      fc.property(
        fc.constantFrom(...policies),
        priorities,
        fc.double({ min: 0, max: 3, noNaN: true }),
        (policy, given, saturation) => {
          const sorted = given.toSorted((a, b) => b - a);
          const ceilings = policy.ceilings(saturation, sorted);
          expect(ceilings).toHaveLength(sorted.length);
          expect(ceilings).toEqual(ceilings.toSorted((a, b) => b - a));
        },
      ),
      { seed: 19, numRuns: 300 },
    );
  });
});
