import { PIECE_BYTES_MAX, type TracePiece } from './split-lines.ts';

/** Lines with quotes that are open at the end of a line, as one row each: exports have texts in them. */
export function* joinRows(lines: Iterable<TracePiece>): Generator<TracePiece, void> {
  let open: { readonly line: number; readonly parts: string[]; chars: number } | undefined;
  for (const piece of lines) {
    if ('wrong' in piece) {
      yield piece;
      continue;
    }
    // A quote within quotes is written twice, so an odd number of them opens or closes.
    const turns = piece.text.split('"').length % 2 === 0;
    if (open === undefined && !turns) {
      yield piece;
      continue;
    }
    open ??= { line: piece.line, parts: [], chars: 0 };
    open.parts.push(piece.text);
    open.chars += piece.text.length;
    const isWhole = turns && open.parts.length > 1;
    if (!isWhole && open.chars <= PIECE_BYTES_MAX) continue;
    yield rowOf(open);
    open = undefined;
  }
  if (open !== undefined) yield rowOf(open);
}

function rowOf({
  line,
  parts,
}: {
  readonly line: number;
  readonly parts: readonly string[];
}): TracePiece {
  return { line, text: parts.join('\n') };
}
