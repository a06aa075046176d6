import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockHashTable } from './block-hash-table.ts';

const BLOCKS = 300;

describe('BlockTable', () => {
  it('finds for each content the block that came first of those left, as lists would', () => {
    const order = fc.record({
      block: fc.nat(BLOCKS - 1),
      // Few and many contents, so that they repeat and that the table grows; some alike in their
      // low bits.
      hash: fc.oneof(
        fc.nat(4),
        fc.nat(2 ** 31 - 1).map((high) => high * 0x20_0000 + 7),
        fc.maxSafeNat(),
      ),
    });
    fc.assert(
      fc.property(fc.array(order, { maxLength: 2000 }), (orders) => {
        const table = new BlockHashTable();
        const hashes = new Float64Array(BLOCKS).fill(Number.NaN);
        const lists = new Map<number, number[]>();
        let size = 0;
        for (const { block, hash } of orders) {
          const held = hashes[block] ?? Number.NaN;
          if (Number.isNaN(held)) {
            hashes[block] = hash;
            table.add(hash, block, hashes);
            lists.set(hash, [...(lists.get(hash) ?? []), block]);
            size += 1;
          } else {
            table.remove(held, block, hashes);
            hashes[block] = Number.NaN;
            lists.set(held, lists.get(held)?.filter((each) => each !== block) ?? []);
            size -= 1;
          }
          expect(table.size).toBe(size);
          expect(table.find(hash, hashes)).toBe(lists.get(hash)?.[0]);
        }
        for (const [hash, list] of lists) expect(table.find(hash, hashes)).toBe(list[0]);
      }),
      { seed: 862, numRuns: 200 },
    );
  });

  it('looks once where thousands of blocks have the same content', () => {
    const table = new BlockHashTable();
    const reads: number[] = [];
    const hashes = new Proxy(new Float64Array(20_000).fill(5), {
      get: (target, key) => {
        reads.push(Number(key));
        return target[Number(key)];
      },
    });
    for (let block = 0; block < 20_000; block++) table.add(5, block, hashes);
    reads.length = 0;
    expect(table.find(5, hashes)).toBe(0);
    expect(table.find(6, hashes)).toBeUndefined();
    expect(reads.length).toBeLessThan(5);
  });
});
