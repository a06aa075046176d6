import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { BlockNumbers } from './block-numbers.ts';

function numbersOf(numbers: BlockNumbers, blocks: readonly number[]): readonly number[] {
  // Many of these hashes have the same lower half: the table must keep them apart.
  return blocks.map((block) => numbers.numberOf(block % 97, Math.floor(block / 97), false));
}

describe('block numbers', () => {
  it('go up as blocks first come', () => {
    const numbers = new BlockNumbers();
    expect(numbersOf(numbers, [10, 20, 30])).toEqual([0, 1, 2]);
    expect(numbersOf(numbers, [10, 20, 40, 50])).toEqual([0, 1, 3, 4]);
    expect(numbersOf(numbers, [20, 10])).toEqual([1, 0]);
  });

  it('are one for each block, however many there are', () => {
    const numbers = new BlockNumbers();
    const random = seededRandom(2);
    const known = new Map<number, number>();
    for (let turn = 0; turn < 3000; turn++) {
      const blocks = Array.from({ length: 8 }, () => Math.floor(random.next() * 9000));
      for (const block of blocks) known.set(block, known.get(block) ?? known.size);
      expect(numbersOf(numbers, blocks)).toEqual(blocks.map((block) => known.get(block)));
    }
  });

  it('are those of before where a prompt goes on as it did, and new ones where it does not', () => {
    const numbers = new BlockNumbers();
    numbersOf(numbers, [10, 20, 30]);
    const next = numbers.next;
    expect(numbers.numberOf(10, 0, false)).toBe(0);
    expect(numbers.numberOf(40, 0, false)).toBe(next);
    expect(numbers.numberOf(50, 0, true)).toBe(next + 1);
    expect(numbers.numberOf(50, 0, false)).toBe(next + 1);
  });

  it('are never given twice, and kept for at least half as many blocks as the bound', () => {
    const numbers = new BlockNumbers(2000);
    const random = seededRandom(3);
    const blockOf = new Map<number, number>();
    const last = new Map<number, { readonly number: number; readonly turn: number }>();
    let forgotten = 0;
    for (let turn = 0; turn < 40_000; turn++) {
      const block = Math.floor(5000 * random.next() ** 2);
      const [number = -1] = numbersOf(numbers, [block]);
      expect(blockOf.get(number) ?? block).toBe(block);
      blockOf.set(number, block);
      const before = last.get(block);
      // So many others at most have come since.
      if (before !== undefined && turn - before.turn < 1000) expect(number).toBe(before.number);
      if (before !== undefined && number !== before.number) forgotten += 1;
      last.set(block, { number, turn });
    }
    expect(forgotten).toBeGreaterThan(100);
  });
});
