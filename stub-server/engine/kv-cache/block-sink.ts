import type { BlockChain } from './cached-sequence.ts';

/**
 * Receives the changes of a prefix cache in order. All calls together give exactly its content, and
 * that of host memory, unless only the prefix cache is cleared.
 */
export interface BlockSink {
  /** `count` blocks of the chain from `first` on can be found; also if cached already. */
  stored(chain: BlockChain, first: number, count: number): void;
  /** One block of this content is evicted; another of the same content may remain. */
  removed(hash: number): void;
  /** The prefix cache is empty. */
  cleared(): void;
  /** Blocks of these contents are in host memory from now on. */
  offloaded(hashes: readonly number[]): void;
  /** Blocks of these contents are no longer in host memory. */
  evictedFromHost(hashes: readonly number[]): void;
}
