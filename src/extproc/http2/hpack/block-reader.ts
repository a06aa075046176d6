import { HpackError } from './hpack-error.ts';
import { decodeHuffman } from './huffman.ts';

/** Bits of an integer after its first byte: far more than any length or index needs. */
const CONTINUED_BITS_MAX = 28;
const STRING_PREFIX_BITS = 7;
const HUFFMAN = 0x80;

/** Reads the integers and strings of one block, from its start. */
export class BlockReader {
  readonly #block: Buffer;
  #at = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get done(): boolean {
    return this.#at === this.#block.length;
  }

  /** The byte that comes next, which stays; throws HpackError at the end. */
  get first(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) throw new HpackError('a block ends within a field');
    return byte;
  }

  /** An integer that begins in the last `prefixBits` of the next byte (RFC 7541, 5.1). */
  integer(prefixBits: number): number {
    const prefixMax = (1 << prefixBits) - 1;
    let value = this.first & prefixMax;
    this.#at++;
    if (value < prefixMax) return value;
    for (let shift = 0; shift < CONTINUED_BITS_MAX; shift += 7) {
      const byte = this.first;
      this.#at++;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new HpackError('an integer is too large');
  }

  /** A string, one character a byte (RFC 7541, 5.2). */
  string(): string {
    const huffman = (this.first & HUFFMAN) !== 0;
    const length = this.integer(STRING_PREFIX_BITS);
    const start = this.#at;
    const end = start + length;
    if (end > this.#block.length) throw new HpackError('a string is longer than its block');
    this.#at = end;
    return huffman
      ? decodeHuffman(this.#block, start, end)
      : this.#block.toString('latin1', start, end);
  }
}
