import { describe, expect, it } from 'vitest';
import { HpackError } from './hpack-error.ts';
import { decodeHuffman } from './huffman.ts';

/** Ends with ones, as strings are padded. */
function bytesOf(bits: string): Buffer {
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(padded.match(/.{8}/g)?.map((each) => Number.parseInt(each, 2)) ?? []);
}

function decoded(bits: string): string {
  const bytes = bytesOf(bits);
  return decodeHuffman(bytes, 0, bytes.length);
}

function code(hex: number, bits: number): string {
  return hex.toString(2).padStart(bits, '0');
}

const A = code(0x3, 5);
const END = code(0x3fffffff, 30);

describe('the Huffman code', () => {
  it('[V180] has the codes of RFC 7541, appendix B, for bytes that no client sends', () => {
    const codes: readonly (readonly [byte: number, hex: number, bits: number])[] = [
      [0, 0x1ff8, 13],
      [1, 0x7fffd8, 23],
      [2, 0xfffffe2, 28],
      [9, 0xffffea, 24],
      [10, 0x3ffffffc, 30],
      [13, 0x3ffffffd, 30],
      [22, 0x3ffffffe, 30],
      [31, 0xffffffb, 28],
      [127, 0xffffffc, 28],
      [249, 0xffffffe, 28],
    ];
    for (const [byte, hex, bits] of codes) {
      expect(decoded(A + code(hex, bits) + A)).toBe(`a${String.fromCharCode(byte)}a`);
    }
  });

  it('[V180] reads strings of any length', () => {
    expect(decoded('')).toBe('');
    for (const length of [1, 2, 7, 8, 9, 4095, 4096, 4097, 100_000]) {
      expect(decoded(A.repeat(length)) === 'a'.repeat(length), `${length}`).toBe(true);
    }
  });

  it('[V180] reads between the bounds that it gets, and nothing else', () => {
    const bytes = Buffer.concat([Buffer.of(0x55), bytesOf(A + A + A), Buffer.of(0x55)]);
    expect(decodeHuffman(bytes, 1, 3)).toBe('aaa');
  });

  it.each([
    ['a byte of padding', `${A.repeat(8)}11111111`],
    ['two bytes of padding', `${A}11111111111`],
    ['padding of zeros', `${A}000`],
    ['padding with a zero', `${A}101`],
    ['half a long code', `${A}11111111101`],
  ])('[V181] refuses %s', (_, bits) => {
    expect(() => decoded(bits)).toThrow(
      new HpackError('a string ends with bits that are no padding'),
    );
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7])(
    '[V181] refuses the code of the end after %i codes',
    (before) => {
      expect(() => decoded(A.repeat(before) + END + A)).toThrow(
        new HpackError('a string holds the code of its end'),
      );
    },
  );
});
