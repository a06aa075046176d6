import { DamagedArchive } from './unpack.ts';

/** A piece of a trace with its first line: its text, or an error message. */
export type TracePiece =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly wrong: string };

/** 64 MiB. A longer piece cannot be a request. */
export const PIECE_BYTES_MAX: number = 64 * 1024 * 1024;

const NEWLINE = 10;
const decoder = new TextDecoder('utf-8', { fatal: true });

/** The lines of a text that comes in chunks. Holds at most one line in memory. */
export function* splitLines(chunks: Iterable<Buffer>): Generator<TracePiece, void> {
  const open = new OpenPiece();
  let line = 1;
  try {
    for (const chunk of chunks) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        open.append(chunk.subarray(start, end));
        yield open.take(line);
        line += 1;
        start = end + 1;
      }
      open.append(chunk.subarray(start));
    }
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    yield { line, wrong: error.message };
    return;
  }
  if (!open.isEmpty) yield open.take(line);
}

/** The bytes of a piece that is not complete yet. */
export class OpenPiece {
  #parts: Buffer[] = [];
  #bytes = 0;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  append(bytes: Buffer): void {
    this.#bytes += bytes.length;
    // If the piece is too long, only its length is kept.
    if (this.#bytes > PIECE_BYTES_MAX) this.#parts = [];
    else if (bytes.length > 0) this.#parts.push(bytes);
  }

  take(line: number): TracePiece {
    const bytes = this.#bytes;
    const [only = Buffer.alloc(0), ...more] = this.#parts;
    const whole = more.length === 0 ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    if (bytes > PIECE_BYTES_MAX) {
      return { line, wrong: `${bytes} bytes, more than the ${PIECE_BYTES_MAX} of a request` };
    }
    try {
      return { line, text: decoder.decode(whole) };
    } catch {
      return { line, wrong: 'not UTF-8' };
    }
  }
}
