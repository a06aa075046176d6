import { ApiContentError } from './kubernetes-error.ts';

const NEWLINE = 0x0a;
const NOTHING: Uint8Array = new Uint8Array();

/** Cuts bytes into lines, and keeps at most one that has not ended. */
export class Lines {
  readonly #bytesMax: number;
  /** Whole lines, and perhaps the beginning of another. */
  #bytes = NOTHING;
  #from = 0;
  /** The parts of a line that has not ended. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Whether a line has begun that has not ended. */
  get open(): boolean {
    return this.#begunBytes > 0;
  }

  /**
   * To be called when there is no next line. Throws an ApiContentError for a line that is too long.
   */
  push(chunk: Uint8Array): void {
    if (chunk.indexOf(NEWLINE) < 0) {
      this.#begin(chunk);
      return;
    }
    this.#bytes = this.#begunBytes === 0 ? chunk : Buffer.concat([...this.#begun, chunk]);
    this.#from = 0;
    this.#begun = [];
    this.#begunBytes = 0;
  }

  /**
   * The next whole line, a view; undefined where more bytes are needed. Throws as `push` does.
   */
  next(): Uint8Array | undefined {
    const end = this.#bytes.indexOf(NEWLINE, this.#from);
    if (end < 0) {
      this.#begin(this.#bytes.subarray(this.#from));
      this.#bytes = NOTHING;
      this.#from = 0;
      return undefined;
    }
    this.#check(end - this.#from);
    const line = this.#bytes.subarray(this.#from, end);
    this.#from = end + 1;
    return line;
  }

  #begin(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#check(this.#begunBytes + part.length);
    this.#begun.push(part);
    this.#begunBytes += part.length;
  }

  #check(bytes: number): void {
    if (bytes > this.#bytesMax) {
      throw new ApiContentError(`an event of more than ${this.#bytesMax} bytes`);
    }
  }
}
