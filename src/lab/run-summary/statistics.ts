export function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < values.length; index++) total += values[index] as number;
  return total;
}

/** NaN where there are no values. */
export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length;
}

/** A sorted copy. NaN comes last. */
export function sorted(values: ArrayLike<number>): Float64Array {
  return Float64Array.from(values).sort();
}

/**
 * One of the values, which must be sorted in ascending order: the lowest that exceeds no less than
 * `share` (0 to 1) of them, at most the last. NaN where there are no values.
 */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
