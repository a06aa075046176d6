/**
 * Each piece of a body costs as much as a hundred of its bytes. Servers send pieces of kilobytes,
 * or a line each.
 */
const PIECES_MAX = 10_000;
const PIECE_BYTES_MIN = 256;

/** How many pieces the body of one answer may have: 10,000, and one for each 256 bytes. */
export class PieceLimit {
  #pieces = 0;
  #bytes = 0;

  /** Counts a piece. Gives the number of pieces where they are too many for their bytes. */
  exceededBy(pieceBytes: number): number | undefined {
    this.#pieces += 1;
    this.#bytes += pieceBytes;
    return this.#pieces > PIECES_MAX + this.#bytes / PIECE_BYTES_MIN ? this.#pieces : undefined;
  }
}
