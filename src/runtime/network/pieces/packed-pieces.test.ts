import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../seeded-random.ts';
import { PackedPieces } from './packed-pieces.ts';

describe('PackedPieces', () => {
  it('gives all bytes in their order, whatever the sizes of their pieces', () => {
    const random = seededRandom(7);
    const packed = new PackedPieces();
    const pieces: Buffer[] = [];
    for (let count = 0; count < 500; count++) {
      const length = Math.floor(random.next() ** 4 * 5000);
      const piece = Buffer.alloc(length, count % 251);
      pieces.push(Buffer.from(piece));
      packed.add(piece);
      // A small piece may be written over once it is added.
      if (length < 1024) piece.fill(255);
    }
    const whole = Buffer.concat(pieces);
    expect(packed.bytes).toBe(whole.length);
    expect(packed.take().equals(whole)).toBe(true);
    expect([packed.bytes, packed.take().length]).toEqual([0, 0]);
  });

  it('[V433] takes memory by the bytes, also where each comes by itself', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const packed = new PackedPieces();
    const before = used();
    for (let count = 0; count < 1_000_000; count++) packed.add(Buffer.from('x'));
    expect(used() - before).toBeLessThan(4_000_000);
    expect(packed.bytes).toBe(1_000_000);
  });
});
