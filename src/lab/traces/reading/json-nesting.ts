import type { TracePiece } from './split-lines.ts';
import { DamagedArchive } from './unpack.ts';

const [QUOTE, BACKSLASH] = [34, 92];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [91, 93, 123, 125];

/** How deep a byte lies in a JSON text. Brackets within strings do not count. */
export class JsonNesting {
  /** How many objects and arrays are open. */
  depth = 0;
  #inString = false;
  #escaped = false;

  take(byte: number): void {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inString = false;
    } else if (byte === QUOTE) this.#inString = true;
    else if (byte === BRACE || byte === BRACKET) this.depth += 1;
    else if (byte === BRACE_END || byte === BRACKET_END) this.depth -= 1;
  }
}

/** Finds the pieces of a JSON text whose chunks it gets one after the other. */
export interface JsonSplitter {
  /** The line that it has come to. */
  readonly line: number;
  readonly nesting: JsonNesting;
  pieces(chunk: Buffer): Generator<TracePiece, void>;
}

/** All pieces that the splitter finds; the last one says where the text is damaged or cut off. */
export function* splitJson(
  chunks: Iterable<Buffer>,
  splitter: JsonSplitter,
): Generator<TracePiece, void> {
  try {
    for (const chunk of chunks) yield* splitter.pieces(chunk);
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    yield { line: splitter.line, wrong: error.message };
    return;
  }
  if (splitter.nesting.depth > 0) {
    yield { line: splitter.line, wrong: 'cut off: the JSON does not end' };
  }
}
