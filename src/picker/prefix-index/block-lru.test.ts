import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptBlocks } from '../../framework/request.ts';
import { BlockLru } from './block-lru.ts';

/** A chain like that of a prompt: hash i depends on every id up to i. */
function chain(ids: readonly number[]): PromptBlocks {
  const words = new Uint32Array(2 * ids.length);
  let parent = 7;
  ids.forEach((id, index) => {
    parent = (Math.imul(parent ^ id, 0x9e3779b1) ^ (parent >>> 15)) >>> 0;
    // Few distinct low words, so that probes collide.
    words[2 * index] = parent & 0x3f;
    words[2 * index + 1] = parent;
  });
  return { count: ids.length, blockTokens: 64, words };
}

/** The same contract in a slow and obvious way. */
class OracleLru {
  readonly #capacity: number;
  readonly #held = new Map<number, true>();
  constructor(capacity: number) {
    this.#capacity = capacity;
  }
  get size(): number {
    return this.#held.size;
  }
  touch({ count, words }: PromptBlocks): void {
    for (let block = Math.min(count, this.#capacity) - 1; block >= 0; block--) {
      const hash = words[2 * block + 1] as number;
      this.#held.delete(hash);
      if (this.#held.size === this.#capacity) {
        this.#held.delete(this.#held.keys().next().value as number);
      }
      this.#held.set(hash, true);
    }
  }
  matchedBlocks({ count, words }: PromptBlocks): number {
    let matched = 0;
    while (matched < count && this.#held.has(words[2 * matched + 1] as number)) matched++;
    return matched;
  }
}

describe('BlockLru', () => {
  it('agrees with a plain LRU and a linear search, for any order of chains', () => {
    const ids = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 600 }),
        fc.array(ids, { maxLength: 200 }),
        (capacity, chains) => {
          const lru = new BlockLru(capacity);
          const oracle = new OracleLru(capacity);
          for (const each of chains.map(chain)) {
            expect(lru.matchedBlocks(each)).toBe(oracle.matchedBlocks(each));
            lru.touch(each);
            oracle.touch(each);
            expect(lru.size).toBe(oracle.size);
          }
        },
      ),
    );
  });

  it('finds any matched length of a long prompt', () => {
    const ids = Array.from({ length: 700 }, (_, i) => i);
    for (const held of [0, 1, 2, 3, 63, 64, 65, 350, 699, 700]) {
      const lru = new BlockLru(10_000);
      lru.touch(chain(ids.slice(0, held)));
      expect(lru.matchedBlocks(chain(ids))).toBe(held);
    }
  });

  it('forgets tails before heads', () => {
    const lru = new BlockLru(4);
    lru.touch(chain([1, 2, 3, 4]));
    lru.touch(chain([9, 8]));
    expect(lru.matchedBlocks(chain([1, 2, 3, 4]))).toBe(2);
    expect(lru.matchedBlocks(chain([9, 8]))).toBe(2);
  });

  it('keeps the head of a chain longer than the capacity', () => {
    const lru = new BlockLru(3);
    lru.touch(chain([1, 2, 3, 4, 5]));
    expect(lru.size).toBe(3);
    expect(lru.matchedBlocks(chain([1, 2, 3, 4, 5]))).toBe(3);
  });

  it('shrinks to a smaller capacity and starts empty after clear', () => {
    const lru = new BlockLru(100);
    lru.touch(chain([1, 2, 3, 4, 5]));
    lru.setCapacity(2);
    expect(lru.matchedBlocks(chain([1, 2, 3, 4, 5]))).toBe(2);
    lru.clear();
    expect(lru.matchedBlocks(chain([1, 2]))).toBe(0);
    lru.touch(chain([1, 2]));
    expect(lru.matchedBlocks(chain([1, 2]))).toBe(2);
  });

  it('[D160] forgets no pinned block, whatever is touched, and never holds more than its capacity', () => {
    const ids = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 });
    const step = fc.record({ ids, what: fc.constantFrom('touch', 'pin', 'unpin') });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(step, { maxLength: 200 }),
        (capacity, steps) => {
          const lru = new BlockLru(capacity);
          const open: { prompt: PromptBlocks; pinned: number }[] = [];
          for (const { ids: blocks, what } of steps) {
            const prompt = chain(blocks);
            const ended = what === 'unpin' ? open.shift() : undefined;
            if (what === 'touch') lru.touch(prompt);
            else if (what === 'pin') open.push({ prompt, pinned: lru.pin(prompt) });
            else if (ended !== undefined) lru.unpin(ended.prompt, ended.pinned);
            expect(lru.size).toBeLessThanOrEqual(capacity);
            for (const each of open) {
              expect(lru.matchedBlocks(each.prompt)).toBeGreaterThanOrEqual(each.pinned);
            }
          }
          // As before once nothing is pinned: the newest chain is there, as far as it fits.
          for (const { prompt, pinned } of open) lru.unpin(prompt, pinned);
          const last = chain([9, 8, 7]);
          lru.touch(last);
          expect(lru.matchedBlocks(last)).toBe(Math.min(3, capacity));
        },
      ),
      { seed: 160 },
    );
  });

  it('forgets in the order in which requests have ended', () => {
    const lru = new BlockLru(6);
    const [long, short] = [chain([1, 2, 3]), chain([4, 5, 6])];
    const pinned = lru.pin(long);
    lru.unpin(short, lru.pin(short));
    lru.unpin(long, pinned);
    lru.touch(chain([7, 8]));
    expect([lru.matchedBlocks(long), lru.matchedBlocks(short)]).toEqual([3, 1]);
  });

  it('shrinks as far as pinned blocks let it, and further when they are unpinned', () => {
    const lru = new BlockLru(6);
    const prompt = chain([1, 2, 3, 4]);
    const pinned = lru.pin(prompt);
    lru.setCapacity(2);
    expect([lru.size, lru.pin(chain([5]))]).toEqual([4, 0]);
    lru.unpin(prompt, pinned);
    expect([lru.size, lru.matchedBlocks(prompt)]).toEqual([2, 2]);
  });
});
