import type { Usage } from '../../framework/observer.ts';

/** Finds in an answer how many tokens it took, while its chunks pass. */
export interface UsageReader {
  /** Keeps no reference to the chunk. */
  push(chunk: Buffer): void;
  /**
   * Whether nothing at the end of the answer says that it is whole, a stream of events or JSON,
   * where the API says so. Call before `take`.
   */
  lacksEnd?(of: 'events' | 'json'): boolean;
  /** The counts, if the answer gave any, and begins anew. */
  take(): Usage | undefined;
}
