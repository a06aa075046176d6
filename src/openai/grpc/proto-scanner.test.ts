import { expect, it } from 'vitest';
import { type FieldContent, ProtoScanner } from './proto-scanner.ts';

/** Field 4 is a message; `read` also gives the error's words. */
function read(bytes: readonly number[], pieceBytes = bytes.length): readonly unknown[] {
  const found: unknown[] = [];
  const scanner = new ProtoScanner(
    {
      contentOf: (path): FieldContent => (path === 4 ? 'message' : 'skip'),
      varint: (path, value) => void found.push([path, value]),
      bytes: () => undefined,
    },
    0,
    bytes.length,
  );
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes)
      scanner.push(Uint8Array.from(bytes.slice(at, at + pieceBytes)));
    return [...found, scanner.done];
  } catch (error) {
    return [...found, String(error)];
  }
}

const VARINT_2 = (2 << 3) | 0;
const BYTES_3 = (3 << 3) | 2;
const MESSAGE_4 = (4 << 3) | 2;
const FIXED64_5 = (5 << 3) | 1;
const FIXED32_5 = (5 << 3) | 5;
const EIGHT = [1, 2, 3, 4, 5, 6, 7, 8];

it.each([1, 100])(
  'takes fields that end where their message does, in pieces of %i bytes',
  (pieceBytes) => {
    const inner = [VARINT_2, 7];
    expect(read([MESSAGE_4, inner.length, ...inner, VARINT_2, 9], pieceBytes)).toEqual([
      [4 * 1024 + 2, 7],
      [2, 9],
      true,
    ]);
    expect(read([BYTES_3, 0], pieceBytes)).toEqual([true]);
    expect(read([FIXED64_5, ...EIGHT, FIXED32_5, ...EIGHT.slice(4)], pieceBytes)).toEqual([true]);
  },
);

it.each<[string, readonly number[]]>([
  ['a key', [MESSAGE_4, 1, VARINT_2, 7, 7, 7]],
  ['a key of a field with a length', [MESSAGE_4, 1, BYTES_3, 1, 1, 7]],
  ['a part of a number', [MESSAGE_4, 2, VARINT_2, 0x80, 1, 7]],
  ['a field that is longer', [MESSAGE_4, 2, BYTES_3, 1, 1, 7]],
  ['eight bytes of which one is missing', [MESSAGE_4, 8, FIXED64_5, ...EIGHT]],
  ['four bytes of which one is missing', [MESSAGE_4, 4, FIXED32_5, ...EIGHT]],
])('refuses a message that ends with %s, though another field follows', (_, bytes) => {
  for (const pieceBytes of [1, bytes.length]) {
    expect(read(bytes, pieceBytes).at(-1)).toMatch(/ends within a field|goes beyond its message/);
  }
});
