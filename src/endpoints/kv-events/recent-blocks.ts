import type { PromptBlocks } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import { BlockLru } from '../../picker/block-lru.ts';

/** A burst of two seconds to one endpoint at most; 24 bytes each. */
const BLOCKS_MAX = 100_000;

/**
 * What was sent to an endpoint lately: from one to two lifetimes long. Two generations, the older of which is forgotten
 * as a whole.
 */
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

  /** Changes nothing. */
  matchedBlocks(blocks: PromptBlocks, now: Millis): number {
    const age = now - this.#bornAt;
    if (age >= 2 * this.#lifetimeMs) return 0;
    const young = this.#young.matchedBlocks(blocks);
    return age >= this.#lifetimeMs ? young : Math.max(young, this.#old.matchedBlocks(blocks));
  }

  #age(now: Millis): void {
    const age = now - this.#bornAt;
    if (age < this.#lifetimeMs) return;
    const forgotten = this.#old;
    forgotten.clear();
    this.#old = age < 2 * this.#lifetimeMs ? this.#young : forgotten;
    this.#young = age < 2 * this.#lifetimeMs ? forgotten : this.#young;
    if (age >= 2 * this.#lifetimeMs) this.#young.clear();
    this.#bornAt = now;
  }
}
