import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WireWriter } from './wire-writer.ts';

/** Reads a varint as 64 bits of two's complement. */
function readVarint(bytes: Uint8Array): bigint {
  let value = 0n;
  for (const [index, byte] of bytes.entries()) value |= BigInt(byte & 0x7f) << BigInt(7 * index);
  return BigInt.asIntN(64, value);
}

test('[O171] whole numbers of either sign are written as protobuf has them', () => {
  const writer = new WireWriter();
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeInteger(), fc.integer()), (value) => {
      writer.int64(3, value);
      const bytes = writer.take();
      expect(bytes[0]).toBe(3 << 3);
      expect(readVarint(bytes.subarray(1))).toBe(BigInt(value));
      expect(bytes.subarray(1, -1).every((byte) => byte >= 0x80)).toBe(true);
      expect(bytes.at(-1)).toBeLessThan(0x80);
    }),
    { seed: 171 },
  );
});

test('[O171] nanoseconds since 1970 are written to the last digit that a number has', () => {
  const writer = new WireWriter();
  for (const nanos of [0, 1, 2 ** 32, 1_795_000_000_123_456_768]) {
    writer.fixed64(7, nanos);
    expect(writer.take().readBigUInt64LE(1)).toBe(BigInt(nanos));
  }
});

test('[O171] hexadecimal digits become bytes', () => {
  const writer = new WireWriter();
  writer.hex(1, '0af7651916cd43dd');
  expect(writer.take().toString('hex')).toBe('0a080af7651916cd43dd');
});
