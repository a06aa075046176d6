/** All messages of one turn of the event loop, from one thread to another. */
export interface Batch {
  /** Flat: objects would take three times as long to copy. */
  readonly values: readonly unknown[];
  /** Block hashes, and the lengths of headers, of all requests together. */
  readonly words: Uint32Array<ArrayBuffer>;
}

const FIRST_WORDS = 1024;

/** Collects what one turn sends. */
export class BatchWriter {
  #values: unknown[] = [];
  #words = new Uint32Array(FIRST_WORDS);
  #used = 0;
  #moved: ArrayBuffer[] = [];

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  put(...values: readonly unknown[]): void {
    for (const value of values) this.#values.push(value);
  }

  word(word: number): void {
    this.#reserve(1);
    this.#words[this.#used++] = word;
  }

  /** The first `count` of these words. */
  putWords(words: Uint32Array, count: number): void {
    this.#reserve(count);
    this.#words.set(words.length === count ? words : words.subarray(0, count), this.#used);
    this.#used += count;
  }

  /** Moves the bytes, which the caller must not use any more. They have memory of their own. */
  move(bytes: Uint8Array<ArrayBuffer>): void {
    this.#values.push(bytes);
    this.#moved.push(bytes.buffer);
  }

  /** All that was written, and what of it is moved rather than copied. */
  take(): { readonly batch: Batch; readonly moved: readonly ArrayBuffer[] } {
    const words = this.#words.slice(0, this.#used);
    const taken = {
      batch: { values: this.#values, words },
      moved: this.#used === 0 ? this.#moved : [...this.#moved, words.buffer],
    };
    this.#values = [];
    this.#moved = [];
    this.#used = 0;
    return taken;
  }

  #reserve(count: number): void {
    const needed = this.#used + count;
    if (needed <= this.#words.length) return;
    const larger = new Uint32Array(2 * needed);
    larger.set(this.#words);
    this.#words = larger;
  }
}

/** Reads a batch in the order in which it was written. */
export class BatchReader {
  readonly #batch: Batch;
  #at = 0;
  #wordAt = 0;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#batch.values.length;
  }

  /** Both threads run the same program: a value has the type with which it was written. */
  next<T>(): T {
    return this.#batch.values[this.#at++] as T;
  }

  word(): number {
    return this.#batch.words[this.#wordAt++] ?? 0;
  }

  /** Words of their own, so that they do not keep the whole batch in memory. */
  nextWords(count: number): Uint32Array {
    const from = this.#wordAt;
    this.#wordAt += count;
    return this.#batch.words.slice(from, this.#wordAt);
  }
}
