/** vLLM's names for the memory of blocks: of the accelerator, and of the host. */
type Medium = 'GPU' | 'CPU';

/** A change of a prefix cache, as vLLM reports it. */
export type KvEvent =
  | {
      readonly type: 'BlockStored';
      /** Consecutive blocks of one chain. */
      readonly blockHashes: readonly number[];
      readonly parentBlockHash: number | null;
      /** Tokens of all blocks in order; empty if the engine has none. */
      readonly tokenIds: readonly number[];
      readonly blockSize: number;
      readonly loraName: string | null;
      readonly medium: Medium;
    }
  | {
      readonly type: 'BlockRemoved';
      readonly blockHashes: readonly number[];
      readonly medium: Medium;
    }
  | { readonly type: 'AllBlocksCleared' };

/** Batches in msgpack: arrays only (2025), maps in an array (vLLM#42892), maps only (newest). */
export type KvEventFormat = 'array' | 'map' | 'map-batch';
