import { OpenPiece, type TracePiece } from './split-lines.ts';
import { DamagedArchive } from './unpack.ts';

const [NEWLINE, QUOTE, BACKSLASH, COMMA] = [10, 34, 92, 44];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [91, 93, 123, 125];

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * The JSON objects of a text that comes in chunks, either alone or in one array. They may span any
 * number of lines. Holds at most one of them in memory.
 */
export function* splitValues(chunks: Iterable<Buffer>): Generator<TracePiece, void> {
  const scan = new ValueScan();
  try {
    for (const chunk of chunks) yield* scan.pieces(chunk);
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    yield { line: scan.line, wrong: error.message };
    return;
  }
  if (scan.isOpen) yield { line: scan.line, wrong: 'cut off: the JSON does not end' };
}

class ValueScan {
  line = 1;
  readonly #open = new OpenPiece();
  #depth = 0;
  /** Depth of the objects: 1 in an array, otherwise 0. */
  #base = 0;
  #inString = false;
  #escaped = false;
  #valueLine = 1;
  /** Whether the bytes before are outside all objects; reported once for each run of such bytes. */
  #junk = false;
  /** How many bytes of a byte order mark have come; all, once something else has. */
  #markBytes = 0;

  get isOpen(): boolean {
    return this.#depth > 0;
  }

  *pieces(chunk: Buffer): Generator<TracePiece, void> {
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (byte === NEWLINE) this.line += 1;
      if (this.#depth === this.#base) {
        const wrong = this.#between(byte);
        if (wrong !== undefined) yield { line: this.line, wrong };
        start = index;
      } else if (this.#ends(byte)) {
        this.#open.append(chunk.subarray(start, index + 1));
        yield this.#open.take(this.#valueLine);
      }
    }
    if (this.#depth > this.#base) this.#open.append(chunk.subarray(start));
  }

  /** A byte outside of all objects. */
  #between(byte: number): string | undefined {
    if (byte === BYTE_ORDER_MARK[this.#markBytes]) {
      this.#markBytes += 1;
      return undefined;
    }
    this.#markBytes = BYTE_ORDER_MARK.length;
    if (byte === BRACE) {
      this.#depth += 1;
      this.#valueLine = this.line;
    } else if (byte === BRACKET && this.#depth === 0) {
      this.#depth = this.#base = 1;
    } else if (byte === BRACKET_END && this.#base === 1) {
      this.#depth = this.#base = 0;
    } else if (byte > 32 && byte !== COMMA) {
      const again = this.#junk;
      this.#junk = true;
      return again ? undefined : 'not JSON: neither an object nor an array of objects';
    } else return undefined;
    this.#junk = false;
    return undefined;
  }

  /** A byte within an object; true for its last. */
  #ends(byte: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
      return false;
    }
    if (byte === QUOTE) this.#inString = true;
    else if (byte === BRACE || byte === BRACKET) this.#depth += 1;
    else if (byte === BRACE_END || byte === BRACKET_END) this.#depth -= 1;
    return this.#depth === this.#base;
  }
}
