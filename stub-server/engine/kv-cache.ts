import { BlockPool } from './block-pool.ts';
import type { Sequence, SequenceRequest } from './sequence.ts';

/** Receives the changes of a prefix cache in order. All calls together give exactly its content. */
export interface BlockSink {
  /** `count` blocks of the request's chain from `first` on can be found; also if cached already. */
  stored(request: SequenceRequest, first: number, count: number): void;
  /** One block of this content is evicted; another of the same content may remain. */
  removed(hash: number): void;
  cleared(): void;
}

interface KvCacheOptions {
  readonly blocks: number;
  readonly blockTokens: number;
  readonly sink?: BlockSink | undefined;
}

/** Assigns KV blocks to sequences and finds blocks that earlier sequences have filled. */
export class KvCache {
  readonly pool: BlockPool;
  readonly blockTokens: number;
  readonly #sink: BlockSink | undefined;
  /** The blocks found by the last `#match`. */
  #matched: number[] = [];

  constructor({ blocks, blockTokens, sink }: KvCacheOptions) {
    this.pool = new BlockPool(blocks, sink && ((hash) => sink.removed(hash)));
    this.blockTokens = blockTokens;
    this.#sink = sink;
  }

  /**
   * Holds the cached blocks of a new sequence and takes memory for a chunk of at most `budget`
   * tokens. Returns the tokens to compute; 0, and holds nothing, when there is not enough memory.
   */
  admit(sequence: Sequence, budget: number): number {
    // At least one new block is needed: cached blocks never include the last token.
    if (this.pool.free === 0) return 0;
    const hits = this.#match(sequence);
    const cachedTokens = hits * this.blockTokens;
    const tokens = Math.min(sequence.targetTokens - cachedTokens, budget);
    if (!this.#hold(sequence, hits, cachedTokens + tokens)) return 0;
    this.extend(sequence, tokens);
    return tokens;
  }

  /**
   * Holds the cached blocks and takes memory for the first `tokens` tokens. Returns how many to
   * transfer (`arrived` must follow); -1, and holds nothing, when there is not enough memory.
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
    // The last token is always computed here, because its output is the next token.
    sequence.computedTokens = Math.min(
      Math.max(tokens, sequence.computedTokens),
      sequence.targetTokens - 1,
    );
  }

  /** Takes memory for `tokens` more tokens. Returns false, and takes none, without enough. */
  extend(sequence: Sequence, tokens: number): boolean {
    const after = sequence.computedTokens + tokens;
    if (!this.#take(sequence, after)) return false;
    // vLLM makes a block findable as soon as the step that fills it is planned.
    this.#identify(sequence, after);
    return true;
  }

  /** Releases all blocks, tail first: the head, which others may share, is evicted last. */
  release(sequence: Sequence): void {
    const { blocks } = sequence;
    for (let index = blocks.length - 1; index >= 0; index--) {
      this.pool.release(blocks[index] as number);
    }
    sequence.blocks = [];
    sequence.identifiedBlocks = 0;
    sequence.computedTokens = 0;
  }

  /** Removes all content. Returns false, and changes nothing, while a sequence holds a block. */
  clear(): boolean {
    if (this.pool.held > 0) return false;
    this.reset();
    return true;
  }

  /** Removes all content and all holders, as a crash does. */
  reset(): void {
    this.pool.reset();
    this.#sink?.cleared();
  }

  /** Takes blocks until the sequence has memory for `tokens` tokens. */
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

  /** Holds the `hits` blocks just matched if there is memory for `tokens` tokens in total. */
  #hold(sequence: Sequence, hits: number, tokens: number): boolean {
    const { pool } = this;
    const found = this.#matched;
    let needed = Math.ceil(tokens / this.blockTokens) - hits;
    // A matched block without holders is one of the free blocks.
    for (const block of found) if (!pool.isHeld(block)) needed += 1;
    if (needed > pool.free) return false;
    for (const block of found) pool.hold(block);
    sequence.blocks = found;
    this.#matched = [];
    sequence.identifiedBlocks = hits;
    sequence.computedTokens = hits * this.blockTokens;
    return true;
  }

  /** Finds the leading cached blocks, without the last token's: that one must be computed. */
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
