import type { Usage } from '../../framework/observer.ts';

/** Finds in an answer how many tokens it took, while its chunks pass. */
export interface UsageReader {
  /** Keeps no reference to the chunk. */
  push(chunk: Buffer): void;
  /** The counts, if the answer gave any, and begins anew. */
  take(): Usage | undefined;
}
