/** A stretch of a body and what is to stand there instead. Byte offsets, `end` exclusive. */
export interface BodyEdit {
  readonly start: number;
  readonly end: number;
  readonly text: Uint8Array;
}

/** How much longer an edit makes the body. */
export function byteGrowth({ start, end, text }: BodyEdit): number {
  return text.length - (end - start);
}

/** Whether an edit changes anything of a chunk that begins at `offset`. */
export function touchesChunk({ start, end }: BodyEdit, chunk: Uint8Array, offset: number): boolean {
  const chunkEnd = offset + chunk.length;
  return (start >= offset && start < chunkEnd) || (end > offset && start < offset);
}

/** The chunk that begins at `offset`, edited, as views in order. The new text comes where the old one began. */
export function editChunk(edit: BodyEdit, chunk: Uint8Array, offset: number): readonly Uint8Array[] {
  if (!touchesChunk(edit, chunk, offset)) return [chunk];
  const { start, end, text } = edit;
  const from = Math.max(0, start - offset);
  const pieces = [chunk.subarray(0, from), chunk.subarray(Math.min(chunk.length, end - offset))];
  if (start >= offset) pieces.splice(1, 0, text);
  return pieces.filter((piece) => piece.length > 0);
}

/** A whole body, edited. */
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
