import { OpenPiece, type TracePiece } from './split-lines.ts';
import { DamagedArchive } from './unpack.ts';

const [NEWLINE, QUOTE, BACKSLASH] = [10, 34, 92];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [91, 93, 123, 125];

/**
 * The objects that lie so deep in one JSON document that comes in chunks; the document itself has
 * depth 1. Holds at most one of them in memory, however long the document is.
 */
export function* splitNested(chunks: Iterable<Buffer>, depth: number): Generator<TracePiece, void> {
  const scan = new NestedScan(depth);
  try {
    for (const chunk of chunks) yield* scan.pieces(chunk);
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    yield { line: scan.line, wrong: error.message };
    return;
  }
  if (scan.isOpen) yield { line: scan.line, wrong: 'cut off: the JSON does not end' };
}

class NestedScan {
  line = 1;
  readonly #wanted: number;
  readonly #open = new OpenPiece();
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inPiece = false;
  #pieceLine = 1;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  get isOpen(): boolean {
    return this.#depth > 0;
  }

  *pieces(chunk: Buffer): Generator<TracePiece, void> {
    let start = 0;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (byte === NEWLINE) this.line += 1;
      const before = this.#depth;
      this.#take(byte);
      if (byte === BRACE && this.#depth === this.#wanted && before < this.#wanted) {
        this.#inPiece = true;
        this.#pieceLine = this.line;
        start = index;
      } else if (this.#inPiece && this.#depth < this.#wanted) {
        this.#inPiece = false;
        this.#open.append(chunk.subarray(start, index + 1));
        yield this.#open.take(this.#pieceLine);
      }
    }
    if (this.#inPiece) this.#open.append(chunk.subarray(start));
  }

  #take(byte: number): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
    } else if (byte === QUOTE) this.#inString = true;
    else if (byte === BRACE || byte === BRACKET) this.#depth += 1;
    else if (byte === BRACE_END || byte === BRACKET_END) this.#depth -= 1;
  }
}
