/**
 * A histogram counted in an array, for the hot path: prom-client's own costs a hash of the labels each time. Handed
 * to the registry when the page is asked for.
 */
export class Tally {
  readonly bounds: readonly number[];
  /** One more than the bounds: the last holds what is above them all. Not cumulative. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (this.bounds[middle] as number)) high = middle;
      else low = middle + 1;
    }
    this.counts[low] = (this.counts[low] as number) + 1;
    this.sum += value;
    this.count += 1;
  }
}
