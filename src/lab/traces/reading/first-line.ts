import { TraceError } from '../trace.ts';
import { PIECE_BYTES_MAX, splitLines } from './split-lines.ts';

/** Enough to tell an array by, whose line may be as long as the file. */
const HEAD_BYTES = 4096;

export interface FirstLine {
  readonly line: number;
  /** Empty where there is none. */
  readonly text: string;
}

/**
 * The first line with anything on it, and all the chunks again, those that were looked at included. Throws TraceError for a
 * line that cannot be read, unless that is lenient.
 */
export function firstLineOf(
  chunks: Iterable<Buffer>,
  { source, lenient }: { readonly source: string; readonly lenient: boolean },
): { readonly first: FirstLine; readonly all: Iterable<Buffer> } {
  const iterator = chunks[Symbol.iterator]();
  const seen: Buffer[] = [];
  const looked = splitLines(lookedAt(iterator, seen));
  let first: FirstLine = { line: 1, text: '' };
  for (const piece of looked) {
    const text = 'text' in piece ? piece.text : arrayHead(seen[0]);
    first = { line: piece.line, text };
    if (text.trim() !== '') break;
    if ('wrong' in piece && !lenient) throw new TraceError(source, piece.line, piece.wrong);
  }
  return { first, all: rewound(seen, iterator) };
}

/** No further than a line can reach: what is seen is held until it is read again. */
function* lookedAt(iterator: Iterator<Buffer>, seen: Buffer[]): Generator<Buffer, void> {
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

/** The beginning of a text that is an array. */
function arrayHead(chunk: Buffer | undefined): string {
  const head = chunk?.subarray(0, HEAD_BYTES).toString('utf8') ?? '';
  return head.trimStart().startsWith('[') ? head : '';
}
