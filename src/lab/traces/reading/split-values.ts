import { JsonNesting, type JsonSplitter, splitJson } from './json-nesting.ts';
import { OpenPiece, type TracePiece } from './split-lines.ts';

const [NEWLINE, COMMA] = [10, 44];
const [BRACKET, BRACKET_END, BRACE] = [91, 93, 123];

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/**
 * The JSON objects of a text that comes in chunks, either alone or in one array. They may span any
 * number of lines. Holds at most one of them in memory.
 */
export function splitValues(chunks: Iterable<Buffer>): Generator<TracePiece, void> {
  return splitJson(chunks, new OuterObjects());
}

class OuterObjects implements JsonSplitter {
  line = 1;
  readonly nesting = new JsonNesting();
  readonly #open = new OpenPiece();
  /** Depth of the objects: 1 in an array, otherwise 0. */
  #base = 0;
  #valueLine = 1;
  /** Whether the bytes before are outside all objects; reported once for each run of such bytes. */
  #junk = false;
  /** How many bytes of a byte order mark have come; all, once something else has. */
  #markBytes = 0;

  *pieces(chunk: Buffer): Generator<TracePiece, void> {
    const { nesting } = this;
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (byte === NEWLINE) this.line += 1;
      if (nesting.depth === this.#base) {
        const wrong = this.#between(byte);
        if (wrong !== undefined) yield { line: this.line, wrong };
        start = index;
        continue;
      }
      nesting.take(byte);
      if (nesting.depth !== this.#base) continue;
      this.#open.append(chunk.subarray(start, index + 1));
      yield this.#open.take(this.#valueLine);
    }
    if (nesting.depth > this.#base) this.#open.append(chunk.subarray(start));
  }

  /** A byte outside of all objects. */
  #between(byte: number): string | undefined {
    if (byte === BYTE_ORDER_MARK[this.#markBytes]) {
      this.#markBytes += 1;
      return undefined;
    }
    this.#markBytes = BYTE_ORDER_MARK.length;
    if (byte === BRACE) {
      this.nesting.take(byte);
      this.#valueLine = this.line;
    } else if (byte === BRACKET && this.nesting.depth === 0) {
      this.nesting.take(byte);
      this.#base = 1;
    } else if (byte === BRACKET_END && this.#base === 1) {
      this.nesting.take(byte);
      this.#base = 0;
    } else if (byte > 32 && byte !== COMMA) {
      const again = this.#junk;
      this.#junk = true;
      return again ? undefined : 'not JSON: neither an object nor an array of objects';
    } else return undefined;
    this.#junk = false;
    return undefined;
  }
}
