import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { KeyedHash } from '../../../framework/values/keyed-hash.ts';
import { ResidentBlocks } from './resident-blocks.ts';

/** A tree of blocks: block n ≥ 1 has hash n, key 1000 + n and parent n >> 1; block 1 has none. */
function chainTo(block: number): Uint32Array {
  const path: number[] = [];
  for (let at = block; at > 0; at >>= 1) path.unshift(at);
  return Uint32Array.from(path.flatMap((at) => [1000 + at, 0]));
}

class Tree {
  readonly room = { left: 1000 };
  readonly blocks = new ResidentBlocks(this.room, new KeyedHash(1));

  /** False when the parent is not known, so that an event could not have named it. */
  store(block: number, tier = 0): boolean {
    const parent = block === 1 ? -1 : this.blocks.find(block >> 1, 0);
    if (block > 1 && parent < 0) return false;
    const known = this.blocks.find(block, 0);
    const entry =
      known >= 0
        ? known
        : this.blocks.add({ low: block, high: 0 }, { low: 1000 + block, high: 0 }, parent);
    this.blocks.addCopy(entry, tier);
    return true;
  }

  remove(block: number, tier = 0): void {
    const entry = this.blocks.find(block, 0);
    if (entry >= 0) this.blocks.removeCopy(entry, tier);
  }

  match(block: number): number {
    const keys = chainTo(block);
    return this.blocks.prefixBlocks(keys, keys.length / 2);
  }
}

describe('resident blocks', () => {
  it('counts copies: a block is held until the last is removed', () => {
    const tree = new Tree();
    tree.store(1);
    tree.store(1);
    tree.remove(1);
    expect(tree.match(1)).toBe(1);
    tree.remove(1);
    expect(tree.match(1)).toBe(0);
    expect(tree.room.left).toBe(1000);
  });

  it('counts each tier by itself, and weighs a block by its best', () => {
    const tree = new Tree();
    for (const block of [1, 2, 4]) tree.store(block, 1);
    tree.store(1, 0);
    const keys = chainTo(4);
    expect(tree.blocks.weighedPrefix(keys, 3, [1, 0.8])).toBeCloseTo(2.6);
    tree.remove(1, 0);
    tree.remove(1, 0);
    expect(tree.blocks.weighedPrefix(keys, 3, [1, 0.8])).toBeCloseTo(2.4);
    tree.remove(2, 1);
    expect(tree.blocks.weighedPrefix(keys, 3, [1, 0.8])).toBeCloseTo(0.8);
  });

  it('finds nothing more where there is no room', () => {
    const tree = new Tree();
    tree.room.left = 2;
    expect([1, 2].map((block) => tree.store(block))).toEqual([true, true]);
    expect(tree.blocks.add({ low: 4, high: 0 }, { low: 1004, high: 0 }, 1)).toBe(-1);
    tree.blocks.clear();
    expect(tree.room.left).toBe(2);
  });

  it('[E8] says exactly how much of a chain is held, whatever the order of events', () => {
    const event = fc.record({
      block: fc.integer({ min: 1, max: 15 }),
      store: fc.boolean(),
      tier: fc.nat(2),
    });
    let ghosts = 0;
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200, size: 'max' }), (events) => {
        const tree = new Tree();
        const copies = new Map<string, number>();
        const held = (block: number): boolean =>
          [0, 1, 2].some((tier) => (copies.get(`${block}/${tier}`) ?? 0) > 0);
        for (const { block, store, tier } of events) {
          const name = `${block}/${tier}`;
          if (!store) {
            tree.remove(block, tier);
            copies.set(name, Math.max(0, (copies.get(name) ?? 0) - 1));
          } else if (tree.store(block, tier)) copies.set(name, (copies.get(name) ?? 0) + 1);
          ghosts += tree.blocks.ghosts;
          let expected = 0;
          for (let at = 0, depth = Math.floor(Math.log2(block)); at <= depth; at++) {
            if (!held(block >> (depth - at))) break;
            expected += 1;
          }
          expect(tree.match(block)).toBe(expected);
        }
        expect(tree.blocks.size).toBe(
          Array.from({ length: 15 }, (_, at) => at + 1).filter(held).length,
        );
        expect(tree.room.left).toBe(1000 - tree.blocks.size - tree.blocks.ghosts);
      }),
      { numRuns: 200, seed: 20_260_101 },
    );
    // The harder way to the answer must have been taken too.
    expect(ghosts).toBeGreaterThan(0);
  });

  it('[V604] are forgotten without a look at each slot of what was large once', () => {
    const room = { left: 500_000 };
    const blocks = new ResidentBlocks(room, new KeyedHash(1));
    const fill = vi.spyOn(Int32Array.prototype, 'fill');
    try {
      for (let at = 1; at < 100_000; at++) {
        const key = { low: Math.imul(at, 0x9e3779b1) >>> 0, high: 1 };
        blocks.addCopy(blocks.add({ low: at, high: 0 }, key, -1), 0);
      }
      fill.mockClear();
      for (let round = 0; round < 3; round++) {
        blocks.clear();
        blocks.addCopy(blocks.add({ low: 7, high: 0 }, { low: 7, high: 1 }, -1), 0);
        expect([blocks.size, blocks.find(8, 0), room.left]).toEqual([1, -1, 499_999]);
      }
      const filled = fill.mock.contexts.map((each) => (each as Int32Array).length);
      expect(filled.filter((length) => length > 10_000)).toEqual([]);
    } finally {
      fill.mockRestore();
    }
  });
});
