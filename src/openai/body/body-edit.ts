/** Replaces a range of a body by a text. Byte offsets, `end` exclusive. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: Uint8Array;
  /** What is replaced, for error messages. */
  readonly field: string;
}

/** One or more replacements in the order of the body. They do not overlap. */
export type BodyEdit = readonly Replacement[];

/** How many bytes the edit adds to the body. */
export function byteGrowth(edit: BodyEdit): number {
  return edit.reduce((sum, { start, end, text }) => sum + text.length - (end - start), 0);
}

/** Whether the edit changes a chunk of so many bytes that begins at `offset`. */
export function touchesChunk(edit: BodyEdit, bytes: number, offset: number): boolean {
  return edit.some((each) => touches(each, offset, offset + bytes));
}

/** Edits a chunk that begins at `offset`; returns views in order. */
export function editChunk(
  edit: BodyEdit,
  chunk: Uint8Array,
  offset: number,
): readonly Uint8Array[] {
  if (!touchesChunk(edit, chunk.length, offset)) return [chunk];
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const each of edit) {
    if (!touches(each, offset, offset + chunk.length)) continue;
    const { start, end, text } = each;
    pieces.push(chunk.subarray(at, Math.max(at, start - offset)));
    if (start >= offset) pieces.push(text);
    at = Math.min(chunk.length, end - offset);
  }
  pieces.push(chunk.subarray(at));
  return pieces.filter((piece) => piece.length > 0);
}

/** The chunks of a whole body with the edit made. Without an edit they are the same chunks. */
export function editBody(
  edit: BodyEdit | undefined,
  chunks: readonly Uint8Array[],
): readonly Uint8Array[] {
  if (edit === undefined) return chunks;
  let offset = 0;
  return chunks.flatMap((chunk) => {
    const pieces = editChunk(edit, chunk, offset);
    offset += chunk.length;
    return pieces;
  });
}

/** A later edit's first replacement that an earlier one has not; undefined where they agree. */
export function newReplacement(
  earlier: BodyEdit | undefined,
  later: BodyEdit | undefined,
): Replacement | undefined {
  return later?.find(({ start, end }, at) => {
    const before = earlier?.[at];
    return before === undefined || before.start !== start || before.end !== end;
  });
}

function touches({ start, end }: Replacement, from: number, to: number): boolean {
  return (start >= from && start < to) || (end > from && start < from);
}
