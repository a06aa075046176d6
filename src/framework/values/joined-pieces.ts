/** Bytes in pieces as one buffer; a single piece is not copied. */
export function joinedPieces(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces);
}
