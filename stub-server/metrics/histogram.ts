/** A histogram with Prometheus buckets. Counts are per bucket; the page makes them cumulative. */
export class Histogram {
  readonly bounds: readonly number[];
  /** One count per bound, and a last one for values above all bounds. */
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
