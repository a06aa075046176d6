/** Replaces a range of a body by a text. Byte offsets, `end` exclusive. */
export interface BodyEdit {
  readonly start: number;
  readonly end: number;
  readonly text: Uint8Array;
}

/** How many bytes the edit adds to the body. */
export function byteGrowth({ start, end, text }: BodyEdit): number {
  return text.length - (end - start);
}

/** Whether the edit changes a chunk that begins at `offset`. */
export function touchesChunk({ start, end }: BodyEdit, chunk: Uint8Array, offset: number): boolean {
  const chunkEnd = offset + chunk.length;
  return (start >= offset && start < chunkEnd) || (end > offset && start < offset);
}

/** Edits a chunk that begins at `offset`; returns views in order. */
export function editChunk(
  edit: BodyEdit,
  chunk: Uint8Array,
  offset: number,
): readonly Uint8Array[] {
  if (!touchesChunk(edit, chunk, offset)) return [chunk];
  const { start, end, text } = edit;
  const from = Math.max(0, start - offset);
  const pieces = [chunk.subarray(0, from), chunk.subarray(Math.min(chunk.length, end - offset))];
  if (start >= offset) pieces.splice(1, 0, text);
  return pieces.filter((piece) => piece.length > 0);
}

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
