import { TraceError } from '../trace.ts';
import { PIECE_BYTES_MAX, splitLines } from './split-lines.ts';

/** Enough to recognize an array, whose first line may be as long as the file. */
const HEAD_BYTES = 4096;

interface FirstLine {
  readonly line: number;
  /** Empty if there is none. */
  readonly text: string;
  /** The first bytes of a document of which the first line has a brace alone. */
  readonly head?: string;
}

/**
 * The first line that is not blank, and all chunks, including those read to find it. Throws
 * TraceError for a line that cannot be read, unless it is lenient.
 */
export function firstLineOf(
  chunks: Iterable<Buffer>,
  { source, lenient }: { source: string; lenient: boolean },
): { first: FirstLine; all: Iterable<Buffer> } {
  const iterator = chunks[Symbol.iterator]();
  const seen: Buffer[] = [];
  const pieces = splitLines(recorded(iterator, seen));
  let first: FirstLine = { line: 1, text: '' };
  for (const piece of pieces) {
    // An array that begins on a line of its own is known by what follows.
    const own = 'text' in piece && piece.text.trim() !== '[' ? piece.text : undefined;
    const text = own ?? arrayHead(seen[0]);
    first = { line: piece.line, text, ...(text.trim() === '{' && { head: headOf(seen[0]) }) };
    if (text.trim() !== '') break;
    if ('wrong' in piece && !lenient) throw new TraceError(source, piece.line, piece.wrong);
  }
  return { first, all: rewound(seen, iterator) };
}

/** Records the chunks that it passes on, up to the length of the longest line. */
function* recorded(iterator: Iterator<Buffer>, seen: Buffer[]): Generator<Buffer, void> {
  for (let bytes = 0; bytes <= PIECE_BYTES_MAX; ) {
    const next = iterator.next();
    if (next.done === true) return;
    seen.push(next.value);
    bytes += next.value.length;
    yield next.value;
  }
}

function* rewound(seen: readonly Buffer[], iterator: Iterator<Buffer>): Generator<Buffer, void> {
  yield* seen;
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) yield next.value;
}

function headOf(chunk: Buffer | undefined): string {
  return chunk?.subarray(0, HEAD_BYTES).toString('utf8').trimStart() ?? '';
}

/** The start of a text that is an array; empty for other texts. */
function arrayHead(chunk: Buffer | undefined): string {
  const head = headOf(chunk);
  return head.startsWith('[') ? head : '';
}
