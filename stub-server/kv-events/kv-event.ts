/** What happened to a prefix cache, as vLLM tells it. */
export type KvEvent =
  | {
      readonly type: 'BlockStored';
      /** Consecutive blocks of one chain. */
      readonly blockHashes: readonly number[];
      readonly parentBlockHash: number | null;
      /** Of all the blocks, one after another; empty where the engine was given none. */
      readonly tokenIds: readonly number[];
      readonly blockSize: number;
      readonly loraName: string | null;
    }
  | { readonly type: 'BlockRemoved'; readonly blockHashes: readonly number[] }
  | { readonly type: 'AllBlocksCleared' };

/**
 * How batches have been laid out in msgpack: `array` in 2025, everything in arrays; `map` since vLLM#42892, events as
 * maps in a batch that is an array; `map-batch` the newest, the batch a map too.
 */
export type KvEventFormat = 'array' | 'map' | 'map-batch';
