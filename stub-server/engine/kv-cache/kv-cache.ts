import type { Clock } from '../../../src/framework/runtime.ts';
import { BlockPool } from './block-pool.ts';
import type { BlockSink } from './block-sink.ts';
import type { CachedSequence, RemoteKv } from './cached-sequence.ts';
import { HostTier, type HostTierOptions } from './host-tier.ts';

interface KvCacheOptions {
  readonly blocks: number;
  readonly blockTokens: number;
  readonly sink?: BlockSink | undefined;
  readonly host?: HostTier | undefined;
  readonly namesOwnBlocks?: boolean | undefined;
  readonly wholePromptMustFit?: boolean | undefined;
}

/** Names of own blocks are negative, and so none is a hash of text; a sequence has so many. */
const OWN_NAMES = 2 ** 26;

/** The KV memory of an engine, with host memory behind it where the options have some. */
export function kvCacheOf(options: {
  readonly clock: Clock;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  readonly hostTier?: HostTierOptions | undefined;
  readonly blockSink?: BlockSink | undefined;
  readonly namesOwnBlocks?: boolean | undefined;
  readonly wholePromptMustFit?: boolean | undefined;
}): KvCache {
  const { clock, kvBlocks: blocks, hostTier, blockSink: sink, ...rest } = options;
  const { blockTokens, namesOwnBlocks, wholePromptMustFit } = rest;
  const host = hostTier && new HostTier({ ...hostTier, blockTokens, clock, sink });
  return new KvCache({ blocks, blockTokens, sink, host, namesOwnBlocks, wholePromptMustFit });
}

/** Assigns KV blocks to sequences and finds blocks that earlier sequences have filled. */
export class KvCache {
  readonly pool: BlockPool;
  readonly blockTokens: number;
  readonly host: HostTier | undefined;
  readonly #sink: BlockSink | undefined;
  readonly #namesOwnBlocks: boolean;
  readonly #wholePromptMustFit: boolean;
  /** Sequences whose own blocks have been named. */
  #named = 0;
  /** The blocks found by the last `#match`. */
  #matched: number[] = [];

  constructor({ blocks, blockTokens, sink, host, ...rules }: KvCacheOptions) {
    const { namesOwnBlocks = false, wholePromptMustFit = true } = rules;
    this.pool = new BlockPool(blocks, sink && ((hash) => sink.removed(hash)));
    this.blockTokens = blockTokens;
    this.host = host;
    this.#sink = sink;
    this.#namesOwnBlocks = namesOwnBlocks;
    this.#wholePromptMustFit = wholePromptMustFit;
  }

  /**
   * Holds the cached blocks of a new sequence and takes memory for a chunk of at most `budget`
   * tokens. Returns the tokens to compute; 0, and holds nothing, when there is not enough memory.
   */
  admit(sequence: CachedSequence, budget: number): number {
    // At least one new block is needed: cached blocks never include the last token.
    if (this.pool.free === 0) return 0;
    const hits = this.#match(sequence);
    const cachedTokens = hits * this.blockTokens;
    const tokens = Math.min(sequence.targetTokens - cachedTokens, budget);
    const mustFit = this.#wholePromptMustFit ? sequence.targetTokens : cachedTokens + tokens;
    if (!this.#hold(sequence, hits, mustFit)) return 0;
    this.extend(sequence, tokens);
    return tokens;
  }

  /**
   * Sets as `remote` the KV outside this memory that a sequence can have. Returns whether there is
   * some.
   */
  chooseRemote(sequence: CachedSequence): boolean {
    if (sequence.remoteKv !== 'none') return false;
    sequence.remote = sequence.peerKv ?? this.#offloaded(sequence);
    return sequence.remote !== undefined;
  }

  /**
   * Holds the cached blocks and takes memory for all that must have KV before the next token, so
   * that sequences with transferred KV never wait for each other's memory. Returns how many of the
   * first `tokens` tokens to transfer (`arrived` must follow); undefined, and holds nothing, when
   * there is not enough memory.
   */
  admitRemote(sequence: CachedSequence, tokens: number): number | undefined {
    const hits = this.#match(sequence);
    if (!this.#hold(sequence, hits, sequence.targetTokens)) return undefined;
    this.#take(sequence, sequence.targetTokens);
    return Math.max(0, tokens - hits * this.blockTokens);
  }

  /** The KV of the first `tokens` tokens is complete. */
  arrived(sequence: CachedSequence, tokens: number): void {
    this.#identify(sequence, tokens);
    // The last token is always computed here, because its output is the next token.
    sequence.computedTokens = Math.min(
      Math.max(tokens, sequence.computedTokens),
      sequence.targetTokens - 1,
    );
  }

  /** Takes memory for `tokens` more tokens. Returns false, and takes none, without enough. */
  extend(sequence: CachedSequence, tokens: number): boolean {
    const after = sequence.computedTokens + tokens;
    if (!this.#take(sequence, after)) return false;
    // vLLM makes a block findable as soon as the step that fills it is planned.
    this.#identify(sequence, after);
    return true;
  }

  /** Releases all blocks of a sequence that will find them again, as far as they are still here. */
  preempt(sequence: CachedSequence): void {
    if (this.#namesOwnBlocks) this.#nameOwn(sequence);
    this.release(sequence);
  }

  /** Releases all blocks, tail first: the head, which others may share, is evicted last. */
  release(sequence: CachedSequence): void {
    const { blocks } = sequence;
    for (let index = blocks.length - 1; index >= 0; index--) {
      this.pool.release(blocks[index] as number);
    }
    sequence.blocks = [];
    sequence.identifiedBlocks = 0;
    sequence.computedTokens = 0;
  }

  /**
   * Removes all content; that of host memory, too, if it is asked for. Returns false, and changes
   * nothing, while a sequence holds a block.
   */
  clear({ host }: { readonly host: boolean }): boolean {
    if (this.pool.held > 0) return false;
    if (host) this.host?.clear();
    this.#reset();
    return true;
  }

  /** Removes all content and all holders, as a crash does. */
  crash(): void {
    this.host?.clear();
    this.#reset();
  }

  #reset(): void {
    this.pool.reset();
    this.#sink?.cleared();
  }

  /** Takes blocks until the sequence has memory for `tokens` tokens. */
  #take(sequence: CachedSequence, tokens: number): boolean {
    const { blocks } = sequence;
    const needed = Math.ceil(tokens / this.blockTokens) - blocks.length;
    if (needed > this.pool.free) return false;
    for (let count = 0; count < needed; count++) blocks.push(this.pool.take());
    return true;
  }

  #identify(sequence: CachedSequence, tokens: number): void {
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
    this.host?.store(blockHashes, first, full);
  }

  /** Names the full blocks without a hash of text. They must be computed. */
  #nameOwn(sequence: CachedSequence): void {
    const { blocks, request, identifiedBlocks, computedTokens } = sequence;
    if (sequence.ownName === 0) sequence.ownName = this.#named += 1;
    const full = Math.floor(computedTokens / this.blockTokens);
    const first = Math.max(identifiedBlocks, request.blockHashes.length);
    for (let index = first; index < full; index++) {
      this.pool.identify(blocks[index] as number, this.#nameOf(sequence, index));
    }
  }

  /** What a block of a sequence is found by. */
  #nameOf({ request, ownName }: CachedSequence, index: number): number {
    const { blockHashes } = request;
    if (index < blockHashes.length) return blockHashes[index] as number;
    return -(ownName * OWN_NAMES + index);
  }

  /** Holds the `hits` blocks just matched if there is memory for `tokens` tokens in total. */
  #hold(sequence: CachedSequence, hits: number, tokens: number): boolean {
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

  /** Blocks in host memory that continue those of this memory, if there are any. */
  #offloaded(sequence: CachedSequence): RemoteKv | undefined {
    const { host, blockTokens } = this;
    if (host === undefined) return undefined;
    const { blockHashes } = sequence.request;
    const found = this.#match(sequence);
    const limit = Math.min(blockHashes.length, this.#findable(sequence));
    const blocks = host.find(blockHashes, found, limit);
    if (blocks <= found) return undefined;
    return {
      tokens: blocks * blockTokens,
      start: (tokens, ready) => host.load(tokens, ready),
    };
  }

  /** Blocks that a sequence can find: not the last token's, which must be computed. */
  #findable({ request, targetTokens, ownName }: CachedSequence): number {
    const full = Math.floor((targetTokens - 1) / this.blockTokens);
    return ownName > 0 ? full : Math.min(request.blockHashes.length, full);
  }

  /** Finds the leading cached blocks. */
  #match(sequence: CachedSequence): number {
    const limit = this.#findable(sequence);
    const found = this.#matched;
    found.length = 0;
    while (found.length < limit) {
      const block = this.pool.find(this.#nameOf(sequence, found.length));
      if (block === undefined) break;
      found.push(block);
    }
    return found.length;
  }
}
