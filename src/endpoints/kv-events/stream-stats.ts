/** What has come of one endpoint's events. Counts since the endpoint was added. */
export interface StreamStats {
  batches: number;
  events: number;
  bytes: number;
  /** Batches that came again, or late, and had been applied. */
  duplicates: number;
  /** Times that batches were missing. */
  gaps: number;
  /** Gaps closed by the replay socket. */
  repairs: number;
  /** Times that all we knew was given up: batches were lost for good. */
  drops: number;
  /** Times that the publisher began anew. */
  restarts: number;
  /** Messages that were no batch. */
  malformed: number;
  /** Blocks told that could not be named by their tokens: tokens or parent unknown, or no room. */
  unnamed: number;
  /** Events of attention groups that hold no whole prefix, and of unknown types. */
  skipped: number;
}

export function streamStats(): StreamStats {
  return {
    batches: 0,
    events: 0,
    bytes: 0,
    duplicates: 0,
    gaps: 0,
    repairs: 0,
    drops: 0,
    restarts: 0,
    malformed: 0,
    unnamed: 0,
    skipped: 0,
  };
}
