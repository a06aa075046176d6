/** 64-bit hashes, two words each: hash i is words 2i (low) and 2i + 1 (high). */
export type HashWords = Uint32Array;

/** What happened to an engine's prefix cache, whichever engine told it and in whatever layout. */
export type CacheEvent =
  | {
      readonly kind: 'stored';
      /** Consecutive blocks of one chain. */
      readonly hashes: HashWords;
      /** The block before the first; undefined at the beginning of a prompt. */
      readonly parent: HashWords | undefined;
      /** Of all the blocks, one after another; fewer where the engine did not tell them. */
      readonly tokenIds: readonly number[];
      readonly blockTokens: number;
      /** Where the blocks are, in lower case: `gpu`, `cpu`, … */
      readonly tier: string;
      readonly lora: string | undefined;
      /** For each block what besides its tokens makes it different (cache salt, pictures), as text; empty for most. */
      readonly extras: readonly string[];
      /** The KV-cache group the blocks are in; undefined for an engine with one. */
      readonly group: number | undefined;
      /** What kind of attention the group is for, if told. */
      readonly groupKind: string | undefined;
    }
  | {
      readonly kind: 'removed';
      readonly hashes: HashWords;
      readonly tier: string;
      readonly group: number | undefined;
    }
  | { readonly kind: 'cleared' };
