import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findSaturation, type Probe, type Saturation } from './find-saturation.ts';

/** A pool that answers in time up to a load of `limit`. */
function search(
  limit: number,
  bounds = { from: 1, min: 1 / 16, max: 64 },
): Promise<Saturation<Probe>> {
  return findSaturation((speed) => Promise.resolve({ speed, meets: speed <= limit }), bounds);
}

describe('findSaturation', () => {
  it('comes within 2 % below the limit, wherever it is, in some 14 measurements', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 0.07, max: 60, noNaN: true }), async (limit) => {
        const found = await search(limit);
        expect(found.outcome).toBe('found');
        if (found.outcome !== 'found') return;
        expect(found.best.speed).toBeLessThanOrEqual(limit);
        expect(found.best.speed * 1.02).toBeGreaterThanOrEqual(limit);
        expect(found.probes.length).toBeLessThanOrEqual(14);
      }),
      { seed: 7 },
    );
  });

  it('says when the limit is above all that may be tried, or below', async () => {
    const above = await search(1000);
    expect(above.outcome).toBe('above');
    expect(above.probes.at(-1)?.speed).toBe(64);
    const below = await search(0.001);
    expect(below.outcome).toBe('below');
    expect(below.probes[0]?.speed).toBe(1 / 16);
  });

  it('never leaves its bounds, and measures no load twice', async () => {
    for (const limit of [0.001, 0.3, 1, 3.3, 4.9, 1000]) {
      const { probes } = await search(limit, { from: 1, min: 0.7, max: 5 });
      const speeds = probes.map(({ speed }) => speed);
      expect(Math.min(...speeds)).toBeGreaterThanOrEqual(0.7);
      expect(Math.max(...speeds)).toBeLessThanOrEqual(5);
      expect(new Set(speeds).size).toBe(speeds.length);
    }
  });
});
