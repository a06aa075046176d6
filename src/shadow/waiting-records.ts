/** The most bytes of one batch, so that a slow shadow still answers before it is taken to hang. */
const BATCH_BYTES_MAX = 512 * 1024;

interface Piece {
  readonly lines: Uint8Array;
  readonly records: number;
}

/** Whole lines and the number of records in them, to be sent together. */
interface RecordBatch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly records: number;
}

/** Records that wait to be sent to a shadow, in their order. */
export class WaitingRecords {
  #pieces: Piece[] = [];
  #bytes = 0;
  #records = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of records that wait. */
  get records(): number {
    return this.#records;
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Whether more waits than one batch holds. */
  get exceedsBatch(): boolean {
    return this.#bytes > BATCH_BYTES_MAX;
  }

  /** Copies the lines. */
  add(lines: Uint8Array, records: number): void {
    this.#pieces.push({ lines: lines.slice(), records });
    this.#bytes += lines.length;
    this.#records += records;
  }

  /** Begins anew with the state of the picker, which does not count as records. */
  beginWith(state: Uint8Array): void {
    this.#pieces = [{ lines: state, records: 0 }];
    this.#bytes = state.length;
    this.#records = 0;
  }

  /** Takes the oldest pieces out, as many as one batch holds, and at least one. */
  takeBatch(): RecordBatch {
    let count = 0;
    let size = 0;
    for (const { lines } of this.#pieces) {
      if (count > 0 && size + lines.length > BATCH_BYTES_MAX) break;
      count += 1;
      size += lines.length;
    }
    const bytes = new Uint8Array(size);
    let at = 0;
    let taken = 0;
    for (const { lines, records } of this.#pieces.splice(0, count)) {
      bytes.set(lines, at);
      at += lines.length;
      taken += records;
    }
    this.#bytes -= size;
    this.#records -= taken;
    return { bytes, records: taken };
  }

  /** Drops all. Returns how many records were dropped. */
  drop(): number {
    const dropped = this.#records;
    this.#pieces = [];
    this.#bytes = 0;
    this.#records = 0;
    return dropped;
  }
}
