import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import type { Figures } from '../figures.ts';
import type { Round } from '../measure-side.ts';
import { addedBy, cpuRatio, medianCpu } from './compare.ts';

const round = (figures: Figures): Round => ({
  figures,
  completed: 100,
  failed: 0,
  pieces: 0,
  scrapes: 0,
  seconds: 1,
});
const costs = (...values: readonly number[]): readonly Round[] =>
  values.map((cost) => round({ cost }));

describe('figures beside the Go picker', () => {
  it('[D573] a ratio is that of turns next to each other, however the speed of the machine changes', () => {
    const chance = seededRandom(11);
    const slow = Array.from({ length: 20 }, () => 1 + 3 * chance.next());
    const noisy = (ms: number): readonly Round[] =>
      costs(...slow.map((factor) => ms * factor * (0.99 + 0.02 * chance.next())));
    const ratio = cpuRatio([{ ours: noisy(0.15), other: noisy(0.3) }], 'cost');
    expect(ratio?.median).toBeCloseTo(0.5, 1);
    expect((ratio?.high ?? 9) - (ratio?.low ?? 0)).toBeLessThan(0.03);
  });

  it('[D573] its interval has the medians of all pairs of processes', () => {
    const pair = (ours: number): { ours: readonly Round[]; other: readonly Round[] } => ({
      ours: costs(ours, ours, ours, ours),
      other: costs(1, 1, 1, 1),
    });
    const ratio = cpuRatio([pair(0.7), pair(0.7), pair(0.7), pair(0.9)], 'cost');
    expect(ratio).toEqual({ median: 0.7, low: 0.7, high: 0.9 });
  });

  it('[D573] a figure that a side does not have gives no ratio', () => {
    const other = costs(1, 1);
    expect(cpuRatio([{ ours: [round({}), round({})], other }], 'cost')).toBeUndefined();
    expect(cpuRatio([{ ours: costs(1), other: [] }], 'cost')).toBeUndefined();
    expect(cpuRatio([], 'cost')).toBeUndefined();
    expect(medianCpu([round({})], 'cost')).toBeUndefined();
    expect(medianCpu(costs(3, 1, 2), 'cost')).toBe(2);
  });

  it('[D573] a turn with few answers says nothing of the CPU', () => {
    const few = { ...round({ cost: Number.POSITIVE_INFINITY }), completed: 0 };
    const some = { ...round({ cost: 90 }), completed: 9 };
    expect(cpuRatio([{ ours: costs(1, 1), other: [few, some] }], 'cost')).toBeUndefined();
    expect(
      cpuRatio([{ ours: [few, round({ cost: 1 })], other: costs(2, 2) }], 'cost')?.median,
    ).toBe(0.5);
    expect(medianCpu([few, some], 'cost')).toBeUndefined();
  });

  it('[D574] what a picker adds is its time without that of the turn beside it without a picker', () => {
    const times = (...values: readonly (readonly [p50Ms: number, p99Ms: number])[]): Round[] =>
      values.map(([p50Ms, p99Ms]) => round({ p50Ms, p99Ms }));
    // A slow machine makes both slower.
    const without = times([1, 3], [5, 15], [1, 2]);
    expect(addedBy(times([2, 5], [6, 18], [3, 4]), without)).toEqual({ p50Ms: 1, p99Ms: 2 });
    expect(addedBy(costs(1, 2), without)).toEqual({});
  });
});
