import { JsonNesting, type JsonSplitter, splitJson } from './json-nesting.ts';
import { OpenPiece, type TracePiece } from './split-lines.ts';

const [NEWLINE, BRACE] = [10, 123];

/**
 * The objects that lie so deep in one JSON document that comes in chunks; the document itself has
 * depth 1. Holds at most one of them in memory, however long the document is.
 */
export function splitNested(chunks: Iterable<Buffer>, depth: number): Generator<TracePiece, void> {
  return splitJson(chunks, new NestedObjects(depth));
}

class NestedObjects implements JsonSplitter {
  line = 1;
  readonly nesting = new JsonNesting();
  readonly #wanted: number;
  readonly #open = new OpenPiece();
  #inPiece = false;
  #pieceLine = 1;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  *pieces(chunk: Buffer): Generator<TracePiece, void> {
    const { nesting } = this;
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (byte === NEWLINE) this.line += 1;
      const before = nesting.depth;
      nesting.take(byte);
      if (byte === BRACE && nesting.depth === this.#wanted && before < this.#wanted) {
        this.#inPiece = true;
        this.#pieceLine = this.line;
        start = index;
      } else if (this.#inPiece && nesting.depth < this.#wanted) {
        this.#inPiece = false;
        this.#open.append(chunk.subarray(start, index + 1));
        yield this.#open.take(this.#pieceLine);
      }
    }
    if (this.#inPiece) this.#open.append(chunk.subarray(start));
  }
}
