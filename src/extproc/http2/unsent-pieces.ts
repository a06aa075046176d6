/** Pieces of one message that are sent as far as there is room. */
export class UnsentPieces {
  /** Called by their sender, once all of them have left. */
  readonly onSent: () => void;
  #pieces: readonly Uint8Array[];
  /** Where the first piece goes on. */
  #at = 0;
  #bytes = 0;

  constructor(pieces: readonly Uint8Array[], onSent: () => void) {
    this.onSent = onSent;
    this.#pieces = pieces;
    for (const piece of pieces) this.#bytes += piece.length;
  }

  /** The pieces that have not been sent whole. */
  get pieces(): readonly Uint8Array[] {
    return this.#pieces;
  }

  get at(): number {
    return this.#at;
  }

  /** How many bytes have not left. */
  get bytes(): number {
    return this.#bytes;
  }

  /** So many bytes more have left. */
  sent(bytes: number): void {
    this.#bytes -= bytes;
    this.#at += bytes;
    let whole = 0;
    for (const piece of this.#pieces) {
      if (this.#at < piece.length) break;
      this.#at -= piece.length;
      whole += 1;
    }
    if (whole > 0) this.#pieces = this.#pieces.slice(whole);
  }
}
