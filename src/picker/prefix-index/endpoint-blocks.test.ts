import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PromptBlocks } from '../../framework/request.ts';
import { EndpointBlocks } from './endpoint-blocks.ts';
import { PrefixIndex } from './prefix-index.ts';

/** A chain like that of a prompt: hash i depends on every id up to i. */
function chain(ids: readonly number[]): PromptBlocks {
  const words = new Uint32Array(2 * ids.length);
  let parent = 7;
  ids.forEach((id, index) => {
    parent = (Math.imul(parent ^ id, 0x9e3779b1) ^ (parent >>> 15)) >>> 0;
    // Few distinct low words, so that many blocks are in one bucket.
    words[2 * index] = parent >>> 16;
    words[2 * index + 1] = parent;
  });
  return { count: ids.length, blockTokens: 64, words };
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

function held(capacity: number): EndpointBlocks {
  return new EndpointBlocks(new PrefixIndex(), capacity);
}

/**
 * The same contract for one endpoint in a slow and obvious way: each block by itself, in one map.
 */
class Model {
  capacity: number;
  /** Blocks and how often they are pinned, the oldest first. */
  readonly #pins = new Map<number, number>();

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.#pins.size;
  }

  get #pinned(): number {
    return [...this.#pins.values()].filter((pins) => pins > 0).length;
  }

  #hash({ words }: PromptBlocks, block: number): number {
    return words[2 * block + 1] as number;
  }

  #leading({ count, ...chain }: PromptBlocks, fits: (pins: number | undefined) => boolean): number {
    let block = 0;
    while (block < count && fits(this.#pins.get(this.#hash({ count, ...chain }, block)))) block++;
    return block;
  }

  matchedBlocks(asked: PromptBlocks): number {
    return this.#leading(asked, (pins) => pins !== undefined);
  }

  touch(used: PromptBlocks): void {
    this.use(used, this.#fitting(used), 0);
  }

  pin(used: PromptBlocks): number {
    const pinned = this.#fitting(used);
    this.use(used, pinned, 1);
    return pinned;
  }

  use(used: PromptBlocks, count: number, pins: number): void {
    for (let block = count - 1; block >= 0; block--) {
      const hash = this.#hash(used, block);
      const before = this.#pins.get(hash) ?? 0;
      this.#pins.delete(hash);
      this.#pins.set(hash, before + pins);
    }
    this.trim();
  }

  trim(): void {
    for (const [hash, pins] of this.#pins) {
      if (this.size <= Math.max(this.capacity, this.#pinned)) return;
      if (pins === 0) this.#pins.delete(hash);
    }
  }

  #fitting(used: PromptBlocks): number {
    const ofOthers = this.#pinned - this.#leading(used, (pins) => (pins ?? 0) > 0);
    const room = Math.max(0, this.capacity - this.#pinned);
    const beside = Math.max(room, this.#pinned === 0 ? 0 : room + this.#pinned - ofOthers);
    return Math.min(used.count, used.count <= room ? room : beside);
  }
}

interface Pair {
  blocks: EndpointBlocks;
  model: Model;
  open: { readonly prompt: PromptBlocks; readonly pinned: number }[];
}

const ids = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 24 });
const step = fc.record({
  ids,
  at: fc.nat(3),
  what: fc.constantFrom('touch', 'touch', 'pin', 'unpin', 'resize', 'replace'),
  capacity: fc.integer({ min: 1, max: 60 }),
});

describe('EndpointBlocks', () => {
  it('[D260] holds of every endpoint what a plain list of its blocks in their order of use would hold', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
        fc.array(step, { maxLength: 150 }),
        (capacities, steps) => {
          const index = new PrefixIndex();
          const make = (capacity: number): Pair => ({
            blocks: new EndpointBlocks(index, capacity),
            model: new Model(capacity),
            open: [],
          });
          const pairs = capacities.map(make);
          for (const { ids: used, at, what, capacity } of steps) {
            const place = at % pairs.length;
            const { blocks, model, open } = pairs[place] as Pair;
            const prompt = chain(used);
            if (what === 'touch') {
              blocks.touch(prompt);
              model.touch(prompt);
            } else if (what === 'pin') {
              const pinned = blocks.pin(prompt);
              expect(pinned).toBe(model.pin(prompt));
              open.push({ prompt, pinned });
            } else if (what === 'unpin') {
              const ended = open.shift();
              if (ended !== undefined) {
                blocks.unpin(ended.prompt, ended.pinned);
                model.use(ended.prompt, ended.pinned, -1);
              }
            } else if (what === 'resize') {
              blocks.setCapacity(capacity);
              model.capacity = capacity;
              model.trim();
            } else if (capacity < 10) {
              blocks.remove();
              pairs[place] = make(capacity + 20);
            }
            const matched = index.matched(prompt);
            for (const pair of pairs) {
              expect(pair.blocks.size).toBe(pair.model.size);
              const wanted = pair.model.matchedBlocks(prompt);
              expect(matched[pair.blocks.owner] ?? 0).toBe(wanted);
              expect(pair.blocks.matchedBlocks(prompt)).toBe(wanted);
            }
          }
        },
      ),
      { seed: 260, numRuns: 300 },
    );
  });

  it('finds any matched length of a long prompt', () => {
    for (const count of [0, 1, 2, 3, 63, 64, 65, 350, 699, 700]) {
      const blocks = held(10_000);
      blocks.touch(chain(numbers(count)));
      expect(blocks.matchedBlocks(chain(numbers(700)))).toBe(count);
    }
  });

  it('forgets the ends of prompts before their beginnings', () => {
    const blocks = held(4);
    blocks.touch(chain([1, 2, 3, 4]));
    blocks.touch(chain([9, 8]));
    expect(blocks.matchedBlocks(chain([1, 2, 3, 4]))).toBe(2);
    expect(blocks.matchedBlocks(chain([9, 8]))).toBe(2);
  });

  it('keeps the head of a chain longer than the capacity', () => {
    const blocks = held(3);
    blocks.touch(chain([1, 2, 3, 4, 5]));
    expect(blocks.size).toBe(3);
    expect(blocks.matchedBlocks(chain([1, 2, 3, 4, 5]))).toBe(3);
  });

  it('[D160] forgets in the order in which requests have ended', () => {
    const blocks = held(6);
    const [long, short] = [chain([1, 2, 3]), chain([4, 5, 6])];
    const pinned = blocks.pin(long);
    blocks.unpin(short, blocks.pin(short));
    blocks.unpin(long, pinned);
    blocks.touch(chain([7, 8]));
    expect([blocks.matchedBlocks(long), blocks.matchedBlocks(short)]).toEqual([3, 1]);
  });

  it('[D160] shrinks as far as pinned blocks let it, and further when they are unpinned', () => {
    const blocks = held(6);
    const prompt = chain([1, 2, 3, 4]);
    const pinned = blocks.pin(prompt);
    blocks.setCapacity(2);
    expect([blocks.size, blocks.pin(chain([5]))]).toEqual([4, 0]);
    blocks.unpin(prompt, pinned);
    expect([blocks.size, blocks.matchedBlocks(prompt)]).toEqual([2, 2]);
  });

  it('[Q255] counts what is used again in the second half of its time here', () => {
    const blocks = held(100);
    const use = (...ids: readonly number[]): void => {
      const prompt = chain(ids);
      blocks.unpin(prompt, blocks.pin(prompt));
    };
    const others = (count: number, from: number): void => {
      for (let id = from; id < from + count; id++) use(id);
    };
    use(1, 2, 3);
    others(30, 1000);
    use(1, 2, 3);
    expect(blocks.reused).toBe(0);
    others(60, 2000);
    use(1, 2, 3);
    expect(blocks.reused).toBe(3);
    // It is in use, so that nothing would displace it.
    const prompt = chain([1, 2, 3]);
    const pinned = blocks.pin(prompt);
    others(60, 3000);
    use(1, 2, 3);
    expect(blocks.reused).toBe(3);
    blocks.unpin(prompt, pinned);
    // Answers take half of the room, so that what is unused stays for half as long.
    blocks.setUsedShare(0.5);
    others(30, 4000);
    use(1, 2, 3);
    expect(blocks.reused).toBe(6);
  });

  it('[D261] keeps its memory when prompts come and go, and endpoints come and go', () => {
    const index = new PrefixIndex();
    let blocks = new EndpointBlocks(index, 2000);
    const round = (from: number): void => {
      for (let at = 0; at < 500; at++) blocks.touch(chain([from + at, ...numbers(at % 40)]));
    };
    for (let at = 0; at < 20; at++) round(at * 1000);
    const full = index.bytes;
    for (let at = 0; at < 20; at++) {
      round(at * 1000);
      blocks.remove();
      blocks = new EndpointBlocks(index, 2000);
    }
    // Those that left give up theirs while the next one fills.
    expect(index.bytes).toBeLessThanOrEqual(2 * full);
  });

  it('[D261] takes 8 bytes a block of long prompts, and once what endpoints share', () => {
    const index = new PrefixIndex();
    const pool = numbers(8).map(() => new EndpointBlocks(index, 100_000));
    pool.forEach((blocks, at) => {
      for (let prompt = 0; prompt < 20; prompt++)
        blocks.touch(chain([at, prompt, ...numbers(1500)]));
    });
    expect(index.bytes / (8 * 20 * 1502)).toBeLessThan(9);
    const before = index.bytes;
    for (const blocks of pool) blocks.touch(chain([99, ...numbers(60_000)]));
    expect(index.bytes - before).toBeLessThan(9 * 60_000);
  });

  it('[D262] gives another index what it holds, in its order of use', () => {
    const [index, other] = [new PrefixIndex(), new PrefixIndex()];
    const blocks = new EndpointBlocks(index, 100);
    const prompts = [[1, 2, 3], [1, 2, 4, 5, 6, 7, 8], [9], [1, 2, 3, 4]].map(chain);
    for (const prompt of prompts) blocks.touch(prompt);
    for (const capacity of [100, 7, 3]) {
      const copy = new EndpointBlocks(other, capacity);
      copy.addOlder(blocks.newest(100));
      const smaller = new EndpointBlocks(index, capacity);
      for (const prompt of prompts) smaller.touch(prompt);
      expect(copy.size).toBe(smaller.size);
      for (const prompt of prompts) {
        expect(copy.matchedBlocks(prompt)).toBe(smaller.matchedBlocks(prompt));
      }
      copy.remove();
    }
  });

  it('[D262] adds what another index gave as older than what is here', () => {
    const [here, there] = [held(10), held(10)];
    here.touch(chain([1, 2]));
    there.touch(chain([1, 2, 3, 4, 5]));
    there.touch(chain([7, 8]));
    here.addOlder(there.newest(10));
    expect([here.size, here.matchedBlocks(chain([1, 2, 3, 4, 5]))]).toEqual([7, 5]);
    here.touch(chain([11, 12, 13, 14]));
    expect(here.matchedBlocks(chain([1, 2, 3, 4, 5]))).toBe(4);
    expect(here.matchedBlocks(chain([7, 8]))).toBe(2);
    here.touch(chain([21, 22, 23]));
    expect(here.matchedBlocks(chain([7, 8]))).toBe(1);
  });
});
