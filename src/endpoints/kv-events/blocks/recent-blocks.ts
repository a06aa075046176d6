import type { PromptBlocks } from '../../../framework/request.ts';
import type { Millis } from '../../../framework/runtime.ts';
import { EndpointBlocks } from '../../../picker/prefix-index/endpoint-blocks.ts';
import type { PrefixIndex } from '../../../picker/prefix-index/prefix-index.ts';

/** A burst of two seconds to one endpoint. */
const BLOCKS_MAX = 100_000;

/** Blocks sent to an endpoint in the last one to two lifetimes, in two generations. */
export class RecentBlocks {
  readonly #index: PrefixIndex;
  readonly #lifetimeMs: Millis;
  #young: EndpointBlocks;
  #old: EndpointBlocks;
  #bornAt: Millis = 0;

  /** Endpoints share the index. */
  constructor(index: PrefixIndex, lifetimeMs: Millis) {
    this.#index = index;
    this.#lifetimeMs = lifetimeMs;
    this.#young = new EndpointBlocks(index, BLOCKS_MAX);
    this.#old = new EndpointBlocks(index, BLOCKS_MAX);
  }

  add(blocks: PromptBlocks, now: Millis): void {
    this.#age(now);
    this.#young.touch(blocks);
  }

  clear(): void {
    this.stop();
    this.#young = new EndpointBlocks(this.#index, BLOCKS_MAX);
    this.#old = new EndpointBlocks(this.#index, BLOCKS_MAX);
  }

  /** Forgets all blocks, and gives their room in the index back. Call it last. */
  stop(): void {
    this.#young.remove();
    this.#old.remove();
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
    if (age >= 2 * this.#lifetimeMs) this.clear();
    else {
      this.#old.remove();
      this.#old = this.#young;
      this.#young = new EndpointBlocks(this.#index, BLOCKS_MAX);
    }
    this.#bornAt = now;
  }
}
