/** 64-bit hashes of two words each: hash i is word 2i (low) and word 2i + 1 (high). */
export type HashWords = Uint32Array;

export type StoredEvent = Extract<CacheEvent, { readonly kind: 'stored' }>;
export type RemovedEvent = Extract<CacheEvent, { readonly kind: 'removed' }>;

export type CacheEvent =
  | {
      readonly kind: 'stored';
      /** Consecutive blocks of one chain. */
      readonly hashes: HashWords;
      /**
       * The block before the first one; undefined at the beginning of a prompt. Some engines say 0
       * there, so a 0 that no block has means the beginning, too.
       */
      readonly parent: HashWords | undefined;
      /** The tokens of all blocks in order; fewer where the engine left them out. */
      readonly tokenIds: readonly number[];
      /** May be 0 in an event without tokens. */
      readonly blockTokens: number;
      /** The tier that stores the blocks, in lower case: `gpu`, `cpu`, … */
      readonly tier: string;
      readonly lora: string | undefined;
      /** By block: what is hashed besides its tokens (cache salt, images), as text; often empty. */
      readonly extras: readonly string[];
      /** The KV-cache group of the blocks; undefined for an engine with one group. */
      readonly group: number | undefined;
      /** The group's kind of attention, if known. */
      readonly groupKind: string | undefined;
    }
  | {
      readonly kind: 'removed';
      readonly hashes: HashWords;
      readonly tier: string;
      readonly group: number | undefined;
      /** See `stored`; most engines leave it out. */
      readonly groupKind: string | undefined;
    }
  | { readonly kind: 'cleared' };
