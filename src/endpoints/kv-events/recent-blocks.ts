import type { PromptBlocks } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import { BlockLru } from '../../picker/prefix-index/block-lru.ts';

/** A burst of two seconds to one endpoint; 28 bytes for each block. */
const BLOCKS_MAX = 100_000;

/** Blocks sent to an endpoint in the last one to two lifetimes, in two generations. */
export class RecentBlocks {
  readonly #lifetimeMs: Millis;
  #young = new BlockLru(BLOCKS_MAX);
  #old = new BlockLru(BLOCKS_MAX);
  #bornAt: Millis = 0;

  constructor(lifetimeMs: Millis) {
    this.#lifetimeMs = lifetimeMs;
  }

  add(blocks: PromptBlocks, now: Millis): void {
    this.#age(now);
    this.#young.touch(blocks);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }

  /** How many blocks from the first on were sent lately. Changes nothing. */
  matchedBlocks(blocks: PromptBlocks, now: Millis): number {
    const age = now - this.#bornAt;
    if (age >= 2 * this.#lifetimeMs) return 0;
    const young = this.#young.matchedBlocks(blocks);
    return age >= this.#lifetimeMs ? young : Math.max(young, this.#old.matchedBlocks(blocks));
  }

  #age(now: Millis): void {
    const age = now - this.#bornAt;
    if (age < this.#lifetimeMs) return;
    if (age >= 2 * this.#lifetimeMs) this.#young.clear();
    this.#old.clear();
    [this.#young, this.#old] = [this.#old, this.#young];
    this.#bornAt = now;
  }
}
