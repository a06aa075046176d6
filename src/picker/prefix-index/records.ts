/** No record: the first record has number 1. */
export const NO_RECORD = 0;

/** Records of a page: a page of the largest records has 112 KB. */
const PAGE_BITS = 12;
const PAGE_RECORDS = 1 << PAGE_BITS;
const IN_PAGE = PAGE_RECORDS - 1;

/**
 * Records of some 32-bit fields each, in pages: more of them are made without copying those that
 * are there, and none is an object that the garbage collector visits. Records that are released are
 * used again; pages stay.
 */
export class Records {
  readonly #fields: number;
  readonly #pages: Int32Array[] = [];
  /** Record 0 is none. */
  #used = 1;
  /** The first released record. Its field 0 is the next one. */
  #released: number = NO_RECORD;

  constructor(fields: number) {
    this.#fields = fields;
  }

  /** The bytes of all pages. */
  get bytes(): number {
    return this.#pages.length * PAGE_RECORDS * this.#fields * 4;
  }

  /** A record to use. Its fields have any values. */
  take(): number {
    const record = this.#released;
    if (record !== NO_RECORD) {
      this.#released = this.get(record, 0);
      return record;
    }
    if (this.#used >>> PAGE_BITS === this.#pages.length || this.#pages.length === 0) {
      this.#pages.push(new Int32Array(PAGE_RECORDS * this.#fields));
    }
    return this.#used++;
  }

  /** Gives back a record that is not used any more. */
  release(record: number): void {
    this.set(record, 0, this.#released);
    this.#released = record;
  }

  get(record: number, field: number): number {
    const page = this.#pages[record >>> PAGE_BITS] as Int32Array;
    return page[(record & IN_PAGE) * this.#fields + field] as number;
  }

  set(record: number, field: number, value: number): void {
    const page = this.#pages[record >>> PAGE_BITS] as Int32Array;
    page[(record & IN_PAGE) * this.#fields + field] = value;
  }

  copy(from: number, to: number): void {
    for (let field = 0; field < this.#fields; field++) this.set(to, field, this.get(from, field));
  }
}
