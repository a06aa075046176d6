import type { Millis } from '../../src/framework/runtime.ts';
import type { DecodingSequences } from './decode-set.ts';
import { LinkedList } from './linked-list.ts';
import type { Sequence } from './sequence.ts';
import type { Speculation } from './speculation.ts';

/** Sequences that get as many tokens per step as their drafts give. A step visits each of them. */
export class SpeculativeDecodeSet implements DecodingSequences {
  contextTokens = 0;
  acceptedTokens = 0;
  readonly #members = new LinkedList<Sequence>();
  /** Tokens that each member gets in the current step. */
  readonly #tokens = new Map<Sequence, number>();
  readonly #speculation: Speculation;
  /** Always empty: all members are in `growing`. */
  readonly filling: LinkedList<Sequence> = new LinkedList();

  constructor(speculation: Speculation) {
    this.#speculation = speculation;
  }

  get count(): number {
    return this.#members.size;
  }

  get draftTokens(): number {
    return this.count * this.#speculation.options.tokens;
  }

  get growing(): LinkedList<Sequence> {
    return this.#members;
  }

  beginStep(): void {
    for (const sequence of this.#members) {
      const left = sequence.request.outputTokens - sequence.generatedTokens;
      this.#tokens.set(sequence, Math.min(left, 1 + this.#speculation.draw()));
    }
  }

  tokensOf(sequence: Sequence): number {
    return this.#tokens.get(sequence) ?? 1;
  }

  join(sequence: Sequence): void {
    sequence.decodeLinks.push(this.#members.append(sequence));
    this.contextTokens += sequence.computedTokens;
  }

  leave(sequence: Sequence): void {
    this.contextTokens -= sequence.computedTokens;
    sequence.leaveDecodeLists();
    this.#tokens.delete(sequence);
  }

  has(sequence: Sequence): boolean {
    return sequence.decodeLinks.length > 0;
  }

  /** Does nothing: the counts are always settled. */
  settle(): void {}

  advance(at: Millis): void {
    this.acceptedTokens = 0;
    for (const [sequence, tokens] of this.#tokens) {
      sequence.decoded(tokens, at);
      this.contextTokens += tokens;
      this.acceptedTokens += tokens - 1;
      this.#speculation.count(tokens - 1);
    }
    this.#tokens.clear();
  }

  notify(at: Millis): void {
    for (const { request, generatedTokens } of this.#members)
      request.onToken?.(generatedTokens, at);
  }

  takeEnded(visit: (sequence: Sequence) => void): void {
    for (const sequence of this.#members) {
      if (sequence.generatedTokens < sequence.request.outputTokens) continue;
      this.leave(sequence);
      visit(sequence);
    }
  }
}
