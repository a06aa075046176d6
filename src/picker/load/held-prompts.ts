import type { PromptBlocks } from '../../framework/request.ts';

/**
 * One block of so many is counted, 512 tokens apart: a shorter common beginning saves little time,
 * and requests are added and removed each time they are decided anew.
 */
const STRIDE_BLOCKS = 8;
/** A block's key: its 32 low and 21 of its high bits, which a number holds exactly. */
const LOW_RANGE = 2 ** 32;
const HIGH_BITS = 0x1f_ffff;

/**
 * The prompts of the requests that wait for one endpoint. The id of a block stands for all before
 * it, so a block that is counted says that some waiting prompt begins alike up to there.
 */
export class HeldPrompts {
  readonly #counts = new Map<number, number>();

  add(prompt: PromptBlocks): void {
    for (let block = STRIDE_BLOCKS - 1; block < prompt.count; block += STRIDE_BLOCKS) {
      const key = keyOf(prompt, block);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  /** Only for a prompt that was added. */
  remove(prompt: PromptBlocks): void {
    for (let block = STRIDE_BLOCKS - 1; block < prompt.count; block += STRIDE_BLOCKS) {
      const key = keyOf(prompt, block);
      const count = this.#counts.get(key) ?? 0;
      if (count > 1) this.#counts.set(key, count - 1);
      else this.#counts.delete(key);
    }
  }

  /** Tokens that this prompt has in common, from its first on, with one that waits. */
  sharedTokens(prompt: PromptBlocks): number {
    let shared = 0;
    for (let block = STRIDE_BLOCKS - 1; block < prompt.count; block += STRIDE_BLOCKS) {
      if (!this.#counts.has(keyOf(prompt, block))) break;
      shared = block + 1;
    }
    return shared * prompt.blockTokens;
  }
}

function keyOf({ words }: PromptBlocks, block: number): number {
  const low = words[2 * block] as number;
  const high = words[2 * block + 1] as number;
  return (high & HIGH_BITS) * LOW_RANGE + low;
}
