import { describe, expect, it } from 'vitest';
import { mean, quantile, sum } from './statistics.ts';

describe('quantile', () => {
  it('is a value that was measured', () => {
    expect(quantile([1, 2, 3], 0)).toBe(1);
    expect(quantile([1, 2, 3], 0.5)).toBe(2);
    expect(quantile([1, 2, 3], 0.99)).toBe(3);
    expect(quantile([1, 2, 3], 1)).toBe(3);
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe('mean', () => {
  it('is the sum over the count, and not a number without values', () => {
    expect(mean(Float64Array.of(1, 2, 6))).toBe(3);
    expect(mean([])).toBeNaN();
    expect(sum([])).toBe(0);
  });
});
