import { BlockPool } from './block-pool.ts';
import type { BlockSink } from './block-sink.ts';
import type { Sequence } from './sequence.ts';

export interface KvCacheOptions {
  readonly blocks: number;
  readonly blockTokens: number;
  readonly sink?: BlockSink | undefined;
}

/** Gives sequences their KV blocks and finds what earlier ones have left. */
export class KvCache {
  readonly pool: BlockPool;
  readonly blockTokens: number;
  readonly #sink: BlockSink | undefined;
  /** The blocks that the last `#match` found. */
  #matched: number[] = [];

  constructor({ blocks, blockTokens, sink }: KvCacheOptions) {
    this.pool = new BlockPool(blocks, sink && ((hash) => sink.removed(hash)));
    this.blockTokens = blockTokens;
    this.#sink = sink;
  }

  /**
   * Holds what is cached of a sequence that has nothing yet, and takes memory for a first chunk of at most `budget`
   * tokens. Returns the tokens to compute; 0, and nothing is held, when memory does not allow them.
   */
  admit(sequence: Sequence, budget: number): number {
    // At least one block is needed whatever is cached: what is cached never reaches the last token.
    if (this.pool.free === 0) return 0;
    const hits = this.#match(sequence);
    const cachedTokens = hits * this.blockTokens;
    const tokens = Math.min(sequence.targetTokens - cachedTokens, budget);
    if (!this.#hold(sequence, hits, cachedTokens + tokens)) return 0;
    this.extend(sequence, tokens);
    return tokens;
  }

  /**
   * Holds what is cached and takes memory for KV that will come from elsewhere, up to `tokens` of the prompt. Returns
   * the tokens that have to come, which may be none, or -1, and nothing is held, when memory does not allow them.
   * `arrived` is to be called when they have come.
   */
  admitRemote(sequence: Sequence, tokens: number): number {
    const hits = this.#match(sequence);
    const cachedTokens = hits * this.blockTokens;
    if (!this.#hold(sequence, hits, Math.max(tokens, cachedTokens))) return -1;
    this.#take(sequence, tokens);
    return Math.max(0, tokens - cachedTokens);
  }

  /** The KV of the first `tokens` tokens is complete. */
  arrived(sequence: Sequence, tokens: number): void {
    this.#identify(sequence, tokens);
    // The last token is always computed here: its output is the next one.
    sequence.computedTokens = Math.min(
      Math.max(tokens, sequence.computedTokens),
      sequence.targetTokens - 1,
    );
  }

  /** Takes memory for `tokens` more. False, and nothing is taken, when there is not enough. */
  extend(sequence: Sequence, tokens: number): boolean {
    const after = sequence.computedTokens + tokens;
    if (!this.#take(sequence, after)) return false;
    // vLLM makes a block findable as soon as the step that fills it is planned.
    this.#identify(sequence, after);
    return true;
  }

  /** Gives everything back, tail first: the head of a prompt, which others may share, is the last to be evicted. */
  release(sequence: Sequence): void {
    const { blocks } = sequence;
    for (let index = blocks.length - 1; index >= 0; index--) {
      this.pool.release(blocks[index] as number);
    }
    sequence.blocks = [];
    sequence.identifiedBlocks = 0;
    sequence.computedTokens = 0;
  }

  /** Forgets all content. False, and nothing happens, while anybody holds a block. */
  clear(): boolean {
    if (this.pool.held > 0) return false;
    this.pool.reset();
    this.#sink?.cleared();
    return true;
  }

  /** After a crash: nothing is held or known any more, whoever thought so. */
  forgetAll(): void {
    this.pool.reset();
    this.#sink?.cleared();
  }

  /** Makes sure of memory for `tokens` tokens in all. */
  #take(sequence: Sequence, tokens: number): boolean {
    const { blocks } = sequence;
    const needed = Math.ceil(tokens / this.blockTokens) - blocks.length;
    if (needed > this.pool.free) return false;
    for (let count = 0; count < needed; count++) blocks.push(this.pool.take());
    return true;
  }

  #identify(sequence: Sequence, tokens: number): void {
    const { blocks, request } = sequence;
    const { blockHashes } = request;
    const first = sequence.identifiedBlocks;
    const full = Math.min(Math.floor(tokens / this.blockTokens), blockHashes.length);
    if (full <= first) return;
    for (let index = first; index < full; index++) {
      this.pool.identify(blocks[index] as number, blockHashes[index] as number);
    }
    sequence.identifiedBlocks = full;
    this.#sink?.stored(request, first, full - first);
  }

  /** Holds the `hits` blocks just matched if memory for `tokens` tokens in all is there. */
  #hold(sequence: Sequence, hits: number, tokens: number): boolean {
    const { pool } = this;
    const found = this.#matched;
    let needed = Math.ceil(tokens / this.blockTokens) - hits;
    // A hit that nobody holds stands among the free ones.
    for (const block of found) if (!pool.isHeld(block)) needed += 1;
    if (needed > pool.free) return false;
    for (const block of found) pool.hold(block);
    sequence.blocks = found;
    this.#matched = [];
    sequence.identifiedBlocks = hits;
    sequence.computedTokens = hits * this.blockTokens;
    return true;
  }

  /** Finds the leading cached blocks; not the last token's: it must be computed for there to be a next one. */
  #match({ request, targetTokens }: Sequence): number {
    const { blockHashes } = request;
    const limit = Math.min(blockHashes.length, Math.floor((targetTokens - 1) / this.blockTokens));
    const found = this.#matched;
    found.length = 0;
    while (found.length < limit) {
      const block = this.pool.find(blockHashes[found.length] as number);
      if (block === -1) break;
      found.push(block);
    }
    return found.length;
  }
}
