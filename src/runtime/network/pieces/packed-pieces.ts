/**
 * A piece of so many bytes is kept as it came; a smaller one is copied, because as an object it
 * takes more.
 */
const KEPT_BYTES_MIN = 1024;
const BLOCK_BYTES_MIN = 1024;
const BLOCK_BYTES_MAX = 64 * 1024;
const NOTHING: Buffer = Buffer.alloc(0);

/** Bytes that come in pieces. They take memory by their number, however small the pieces are. */
export class PackedPieces {
  #pieces: Buffer[] = [];
  /**
   * Where small pieces are copied to; its first `#filled` bytes are used, those before `#begin` as
   * a piece.
   */
  #block: Buffer = NOTHING;
  #begin = 0;
  #filled = 0;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (piece.length >= KEPT_BYTES_MIN) {
      this.#endPiece();
      this.#pieces.push(piece);
      return;
    }
    if (this.#filled + piece.length > this.#block.length) this.#beginBlock();
    piece.copy(this.#block, this.#filled);
    this.#filled += piece.length;
  }

  /** All bytes in one piece; nothing is kept. */
  take(): Buffer {
    const pieces = this.takePieces();
    const [first = NOTHING] = pieces;
    return pieces.length > 1 ? Buffer.concat(pieces) : first;
  }

  /** All bytes in their order; nothing is kept, and nothing is copied once more. */
  takePieces(): readonly Buffer[] {
    this.#endPiece();
    const pieces = this.#pieces;
    this.drop();
    return pieces;
  }

  drop(): void {
    this.#pieces = [];
    this.#block = NOTHING;
    this.#begin = 0;
    this.#filled = 0;
    this.#bytes = 0;
  }

  /** Makes a piece of what has been copied since the last one. */
  #endPiece(): void {
    if (this.#filled === this.#begin) return;
    this.#pieces.push(this.#block.subarray(this.#begin, this.#filled));
    this.#begin = this.#filled;
  }

  #beginBlock(): void {
    this.#endPiece();
    const twice = 2 * this.#block.length;
    const bytes = Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, twice));
    this.#block = Buffer.allocUnsafeSlow(bytes);
    this.#begin = 0;
    this.#filled = 0;
  }
}
