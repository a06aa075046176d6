import type { Usage } from '../../framework/observer.ts';

/** Finds in an answer how many tokens it took, while its chunks pass. */
export interface UsageReader {
  /** Keeps no reference to the chunk. */
  push(chunk: Buffer): void;
  /**
   * Whether the end of the answer, a stream of events or JSON, says that the server has failed, or
   * nothing there says that it is whole, where the API says so. Call before `take`.
   */
  hasFailed?(of: 'events' | 'json'): boolean;
  /** The counts, if the answer gave any, and begins anew. */
  take(): Usage | undefined;
}
