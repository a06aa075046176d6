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
   * Counts one more request of a replica that has `open` already. Returns false, and counts nothing,
   * beyond a bound; otherwise `release` must follow.
   */
  takesRequest(open: number): boolean {
    if (this.#requests >= OPEN_MAX || open >= PEER_OPEN_MAX) return false;
    this.#requests += 1;
    return true;
  }

  /** Counts a prompt and returns it. Beyond the bound its blocks are left out: they match nothing. */
  held(prompt: PromptBlocks): PromptBlocks {
    const blocks = blockCount(prompt);
    if (this.#blocks + blocks > BLOCKS_MAX) {
      return { ...NO_BLOCKS, blockTokens: prompt.blockTokens };
    }
    this.#blocks += blocks;
    return prompt;
  }

  /** Counts a request as over, and so many blocks as gone: all that `held` has returned for it. */
  release(blocks: number): void {
    this.#requests -= 1;
    this.#blocks -= blocks;
  }
}
