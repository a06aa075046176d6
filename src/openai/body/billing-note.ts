import { input } from '../kernel/byte-kernel.ts';
import type { ContentBlocks } from '../prompts/content-blocks.ts';

/** How the note begins. It has no character that JSON escapes. */
const BEGINNING = new TextEncoder().encode('x-anthropic-billing-header');
/** The text is another one, until it ends. */
const OTHER_TEXT = -1;

/**
 * Finds the block of a system prompt in which Claude Code notes what it is billed for. It differs
 * in each request, so that with it no prompt would begin like another. The reference leaves it out,
 * and servers that find prompts in their caches do so, too.
 */
export class BillingNote {
  /** How many bytes of a text that has not ended are those of the beginning. */
  #matched = 0;

  /**
   * Whether this piece of a text stays out of the run. Where it turns out to be none, what was held
   * back is pushed.
   */
  leavesOut(run: ContentBlocks, from: number, to: number, last: boolean): boolean {
    const before = this.#matched;
    if (before === OTHER_TEXT || !this.#matches(from, to)) {
      this.#matched = last ? 0 : OTHER_TEXT;
      if (before > 0) run.push(BEGINNING.subarray(0, before));
      return false;
    }
    const isNote = this.#matched === BEGINNING.length;
    if (!last) return true;
    this.#matched = 0;
    if (!isNote) run.push(BEGINNING.subarray(0, before));
    return isNote;
  }

  /** Counts the bytes that match; false where one does not. */
  #matches(from: number, to: number): boolean {
    for (let at = from; at < to && this.#matched < BEGINNING.length; at++) {
      if (input[at] !== BEGINNING[this.#matched]) return false;
      this.#matched += 1;
    }
    return true;
  }
}
