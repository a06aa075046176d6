/** A histogram with Prometheus buckets, cumulative only when printed. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One more than bounds: the last is beyond them all. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number, times = 1): void {
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= (this.bounds[middle] as number)) high = middle;
      else low = middle + 1;
    }
    this.counts[low] = (this.counts[low] as number) + times;
    this.sum += value * times;
    this.count += times;
  }
}
