/** Middle value and extremes of one side's rounds. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Of a few rounds on a machine that drifts the median says most. Throws on none. */
export function summarize(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  const low = sorted[Math.floor((sorted.length - 1) / 2)];
  const high = sorted[Math.ceil((sorted.length - 1) / 2)];
  if (min === undefined || max === undefined || low === undefined || high === undefined) {
    throw new Error('a summary of no rounds');
  }
  return { median: (low + high) / 2, min, max };
}
