import { NO_RECORD, Records } from './records.ts';

/** Buckets at first; a power of two. */
const BUCKETS = 256;

/**
 * Finds records by a key of two words, of which the low one must be spread evenly. Linear hashing:
 * with each record one bucket is added, to which some records of another one move, so that no
 * insertion waits until a whole table has been copied.
 */
export class RunTable {
  readonly #records: Records;
  readonly #low: number;
  readonly #high: number;
  readonly #next: number;
  /** Record b + 1 is bucket b: the first of its records. */
  readonly #heads = new Records(1);
  #buckets = 0;
  /** Half of the buckets that there will be before the next doubling, less one. */
  #mask = BUCKETS - 1;
  #size = 0;

  /** The fields of a record that are its key, and one for the next record of its bucket. */
  constructor(
    records: Records,
    { low, high, next }: Readonly<Record<'low' | 'high' | 'next', number>>,
  ) {
    this.#records = records;
    this.#low = low;
    this.#high = high;
    this.#next = next;
    while (this.#buckets < BUCKETS) this.#addBucket();
  }

  get bytes(): number {
    return this.#heads.bytes;
  }

  /** An inserted record with this key, as signed words, or NONE. */
  find(low: number, high: number): number {
    const records = this.#records;
    let record = this.#heads.get(this.#bucketOf(low), 0);
    while (record !== NO_RECORD) {
      if (records.get(record, this.#low) === low && records.get(record, this.#high) === high) break;
      record = records.get(record, this.#next);
    }
    return record;
  }

  insert(record: number): void {
    this.#push(record, this.#bucketOf(this.#records.get(record, this.#low)));
    this.#size += 1;
    if (this.#size > this.#buckets) this.#grow();
  }

  /** Removes an inserted record. */
  remove(record: number): void {
    const records = this.#records;
    const bucket = this.#bucketOf(records.get(record, this.#low));
    const next = records.get(record, this.#next);
    let before = this.#heads.get(bucket, 0);
    if (before === record) this.#heads.set(bucket, 0, next);
    else {
      while (records.get(before, this.#next) !== record) before = records.get(before, this.#next);
      records.set(before, this.#next, next);
    }
    this.#size -= 1;
  }

  /** The bucket's record in `#heads`. */
  #bucketOf(low: number): number {
    const wide = low & (2 * this.#mask + 1);
    return 1 + (wide < this.#buckets ? wide : wide & this.#mask);
  }

  #push(record: number, bucket: number): void {
    this.#records.set(record, this.#next, this.#heads.get(bucket, 0));
    this.#heads.set(bucket, 0, record);
  }

  #addBucket(): number {
    const bucket = this.#heads.take();
    this.#heads.set(bucket, 0, NO_RECORD);
    this.#buckets += 1;
    return bucket;
  }

  /**
   * Adds a bucket, and moves into it the runs that belong there out of the bucket that had them.
   */
  #grow(): void {
    if (this.#buckets > 2 * this.#mask + 1) this.#mask = 2 * this.#mask + 1;
    const divided = 1 + (this.#buckets & this.#mask);
    this.#addBucket();
    let record = this.#heads.get(divided, 0);
    this.#heads.set(divided, 0, NO_RECORD);
    while (record !== NO_RECORD) {
      const next = this.#records.get(record, this.#next);
      this.#push(record, this.#bucketOf(this.#records.get(record, this.#low)));
      record = next;
    }
  }
}
