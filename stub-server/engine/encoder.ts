import type { Millis } from '../../src/framework/runtime.ts';

/** A medium of a prompt, as the engine sees it. */
export interface EncodedItem {
  readonly hash: string;
  readonly offset: number;
  readonly tokens: number;
  /** Whether its result comes from another server. */
  readonly isHere?: boolean;
}

export interface EncoderOptions {
  /** For each item that is encoded. */
  readonly itemMs: Millis;
  /** For each of its placeholder tokens. */
  readonly perTokenMs: Millis;
  /** Tokens whose embeddings are kept, least recently used first to go. */
  readonly cacheTokens: number;
}

/** A vision encoder of 0.6 B parameters beside a model of 8 B on an H100: an estimate. */
export const ENCODER_DEFAULTS: EncoderOptions = {
  itemMs: 2,
  perTokenMs: 0.03,
  cacheTokens: 65_536,
};

/** The encoder of media before the model, and the cache of its results. */
export class Encoder {
  queries = 0;
  hits = 0;
  readonly #options: EncoderOptions;
  /** Hash → tokens, least recently used first. */
  readonly #cached = new Map<string, number>();
  #cachedTokens = 0;

  constructor(options: EncoderOptions) {
    this.#options = options;
  }

  /**
   * Looks the items up and encodes those that are neither cached nor in the KV cache as a whole.
   */
  encode(items: readonly EncodedItem[], computedTokens: number): Millis {
    const { itemMs, perTokenMs } = this.#options;
    let spentMs = 0;
    for (const { hash, offset, tokens, isHere } of items) {
      this.queries += 1;
      if (this.#touch(hash, tokens)) this.hits += 1;
      else if (isHere !== true && offset + tokens > computedTokens)
        spentMs += itemMs + perTokenMs * tokens;
    }
    return spentMs;
  }

  clear(): void {
    this.#cached.clear();
    this.#cachedTokens = 0;
  }

  /** Makes an item the most recent. Returns whether it was cached. */
  #touch(hash: string, tokens: number): boolean {
    const was = this.#cached.delete(hash);
    this.#cached.set(hash, tokens);
    if (!was) this.#cachedTokens += tokens;
    for (const [oldest, size] of this.#cached) {
      if (this.#cachedTokens <= this.#options.cacheTokens || oldest === hash) break;
      this.#cached.delete(oldest);
      this.#cachedTokens -= size;
    }
    return was;
  }
}
