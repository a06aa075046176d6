import { blockCount, NO_BLOCKS, type PromptBlocks } from '../../framework/request.ts';

/** Requests of other replicas that are open at a time: pickers with more cannot serve them. */
export const OPEN_MAX = 200_000;
/** What one replica may have open: one that takes all that it may leaves room to the others. */
export const PEER_OPEN_MAX = 100_000;
/** Blocks of their prompts, 64 MB. */
const BLOCKS_MAX = 8_000_000;

/** What the requests of all other replicas together hold here, within bounds. */
export class Bookings {
  #requests = 0;
  #blocks = 0;

  /**
   * For a replica with `open` requests. False beyond a bound, else to be released with its blocks.
   */
  takesRequest(open: number): boolean {
    if (this.#requests >= OPEN_MAX || open >= PEER_OPEN_MAX) return false;
    this.#requests += 1;
    return true;
  }

  /** The prompt, counted; beyond the bound none, which only costs its prefix. */
  held(prompt: PromptBlocks): PromptBlocks {
    const blocks = blockCount(prompt);
    if (this.#blocks + blocks > BLOCKS_MAX) {
      return { ...NO_BLOCKS, blockTokens: prompt.blockTokens };
    }
    this.#blocks += blocks;
    return prompt;
  }

  release(blocks: number): void {
    this.#requests -= 1;
    this.#blocks -= blocks;
  }
}
