import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockReader } from './block-reader.ts';
import { HpackError } from './hpack-error.ts';

function reader(hex: string): BlockReader {
  return new BlockReader(Buffer.from(hex, 'hex'));
}

function encoded(value: number, prefixBits: number): Buffer {
  const prefixMax = 2 ** prefixBits - 1;
  if (value < prefixMax) return Buffer.of(value);
  const bytes = [prefixMax];
  let rest = value - prefixMax;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
  return Buffer.from([...bytes, rest]);
}

describe('the reader of a header block', () => {
  it('[V180] reads the integers of RFC 7541, C.1', () => {
    expect(reader('0a').integer(5)).toBe(10);
    expect(reader('1f9a0a').integer(5)).toBe(1337);
    expect(reader('2a').integer(8)).toBe(42);
  });

  it('[V180] reads every integer that a block can need, whatever stands above it', () => {
    const cases = fc.tuple(fc.nat(2 ** 28 - 1), fc.integer({ min: 4, max: 7 }));
    fc.assert(
      fc.property(cases, ([value, prefixBits]) => {
        const bytes = encoded(value, prefixBits);
        bytes[0] = (bytes[0] as number) | ((0xff << prefixBits) & 0xff);
        const block = new BlockReader(bytes);
        expect([block.integer(prefixBits), block.done]).toEqual([value, true]);
      }),
      { numRuns: 1000, seed: 180 },
    );
  });

  it('[V181] refuses an integer that is too large or has no end', () => {
    expect(reader('1fffffff7f').integer(5)).toBe(2 ** 28 - 1 + 31);
    for (const hex of ['1fffffffff00', '1f8080808000', `1f${'ff'.repeat(100)}`]) {
      expect(() => reader(hex).integer(5)).toThrow(new HpackError('an integer is too large'));
    }
  });

  it.each(['', '1f', '1fff'])('[V181] refuses an integer that is cut off: %s', (hex) => {
    expect(() => reader(hex).integer(5)).toThrow(new HpackError('a block ends within a field'));
  });

  it('[V181] refuses a string that is longer than its block', () => {
    expect(reader('0161').string()).toBe('a');
    for (const hex of ['0261', '821f', '7fffffff7f61']) {
      expect(() => reader(hex).string()).toThrow(
        new HpackError('a string is longer than its block'),
      );
    }
  });
});
