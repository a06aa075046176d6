import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedHash } from './keyed-hash.ts';

type Hash = (words: Int32Array, seed: number) => string;

const ours: Hash = (words, seed) => {
  const hash = new KeyedHash(seed);
  hash.words(words, words.length);
  return `${hash.low} ${hash.high}`;
};

/** What the keyed hash replaces: two lanes of multiply-and-rotate, with the seed as their start. */
const twoLanes: Hash = (words, seed) => {
  let low = seed | 0;
  let high = (seed | 0) ^ 0x5bd1e995;
  for (let index = 0; index < words.length; index += 2) {
    low = Math.imul(low ^ (words[index] as number), 0xcc9e2d51);
    low = (low << 13) | (low >>> 19);
    high = Math.imul(high ^ (words[index + 1] as number), 0x1b873593);
    high = ((high << 17) | (high >>> 15)) + low;
  }
  return `${low} ${high | 0}`;
};

/** Bit `first` of word 0, and bit `second` of words 2 and 3. */
function differing(words: Int32Array, first: number, second: number): Int32Array {
  const other = Int32Array.from(words);
  other[0] = (other[0] as number) ^ (1 << first);
  other[2] = (other[2] as number) ^ (1 << second);
  other[3] = (other[3] as number) ^ (1 << second);
  return other;
}

/** The largest share of seeds for which one fixed difference of this form makes inputs collide. */
function worstDifference(hash: Hash, seeds: number): number {
  const words = Int32Array.from({ length: 8 }, (_, at) => Math.imul(at + 1, 0x9e3779b1));
  let worst = 0;
  for (let first = 0; first < 32; first++) {
    for (let second = 0; second < 32; second++) {
      const other = differing(words, first, second);
      let collisions = 0;
      for (let seed = 1; seed <= seeds; seed++) {
        const key = Math.imul(seed, 0x85ebca6b);
        if (hash(words, key) === hash(other, key)) collisions += 1;
      }
      worst = Math.max(worst, collisions / seeds);
    }
  }
  return worst;
}

describe('the keyed hash', () => {
  it('[V50] has no fixed difference that collides, where multiply-and-rotate has one for half of all seeds', () => {
    expect(worstDifference(twoLanes, 64)).toBeGreaterThan(0.4);
    expect(worstDifference(ours, 64)).toBe(0);
  });

  it('[V50] changes half of the result’s bits with any bit of the input or of the key', () => {
    const words = new Int32Array(65);
    const secret = new Uint32Array(4);
    const bitsOf = (): bigint => {
      const hash = new KeyedHash(secret);
      hash.words(words, words.length);
      return (BigInt(hash.high >>> 0) << 32n) | BigInt(hash.low >>> 0);
    };
    const count = (bits: bigint): number => bits.toString(2).replaceAll('0', '').length;
    const before = bitsOf();
    let least = 64;
    let total = 0;
    const flips = [...Array(65 * 32).keys(), ...Array(128).keys()];
    flips.forEach((bit, index) => {
      const target = index < 65 * 32 ? words : secret;
      const flip = (): void => {
        target[bit >> 5] = (target[bit >> 5] as number) ^ (1 << (bit & 31));
      };
      flip();
      const changed = count(before ^ bitsOf());
      flip();
      least = Math.min(least, changed);
      total += changed;
    });
    expect(least).toBeGreaterThan(10);
    expect(Math.abs(total / flips.length - 32)).toBeLessThan(0.5);
  });

  it('[V51] keeps a text of up to 256 characters, and distinguishes longer ones by a short name', () => {
    const hash = new KeyedHash(3);
    const long = fc.string({ minLength: 257, maxLength: 3000, size: 'max' });
    fc.assert(
      fc.property(fc.string({ maxLength: 256, size: 'max' }), long, fc.nat(), (short, text, at) => {
        expect(hash.bounded(short)).toBe(short);
        const name = hash.bounded(text);
        expect(name.length).toBe(64 + 1 + 16);
        expect(hash.bounded(text)).toBe(name);
        const place = at % text.length;
        const other = `${text.slice(0, place)}\u0000${text.slice(place)}`;
        expect(hash.bounded(other)).not.toBe(name);
        expect(new KeyedHash(4).bounded(text)).not.toBe(name);
      }),
      { numRuns: 300, seed: 50 },
    );
  });
});
