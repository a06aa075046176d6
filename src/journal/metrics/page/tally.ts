export interface Cell {
  value: number;
}

/** The trace of a request, and when it was seen, in milliseconds since the Unix epoch. */
export interface SeenTrace {
  readonly traceId: string;
  readonly wallTime: number;
}

/** One observation of a bucket that has a trace. */
export interface Exemplar extends SeenTrace {
  readonly value: number;
}

/** A histogram in plain memory: prom-client's makes a label hash and objects per observation. */
export class Tally {
  readonly bounds: readonly number[];
  /** Observations by bucket, not cumulative; the last bucket is for values above all bounds. */
  readonly counts: Float64Array;
  sum = 0;
  count = 0;
  /** The latest of each bucket; undefined until there is one. */
  exemplars: (Exemplar | undefined)[] | undefined;

  /** `bounds` are inclusive upper bounds in ascending order. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** Leaves out values that are not finite: after one NaN the sum would be NaN for ever. */
  observe(value: number, seen?: SeenTrace): void {
    if (!Number.isFinite(value)) return;
    let low = 0;
    let high = this.bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (this.bounds[middle] ?? Number.POSITIVE_INFINITY)) high = middle;
      else low = middle + 1;
    }
    this.counts[low] = (this.counts[low] ?? 0) + 1;
    this.sum += value;
    this.count += 1;
    if (seen === undefined) return;
    this.exemplars ??= [];
    this.exemplars[low] = { ...seen, value };
  }

  add(other: Tally): void {
    for (let index = 0; index < this.counts.length; index++) {
      this.counts[index] = (this.counts[index] ?? 0) + (other.counts[index] ?? 0);
    }
    this.sum += other.sum;
    this.count += other.count;
    other.exemplars?.forEach((theirs, index) => {
      this.exemplars ??= [];
      const own = this.exemplars[index];
      if (own === undefined || (theirs !== undefined && theirs.wallTime > own.wallTime)) {
        this.exemplars[index] = theirs;
      }
    });
  }
}
