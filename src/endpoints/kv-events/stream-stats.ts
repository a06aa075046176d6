/** Counts of one endpoint's event stream since the endpoint was added. */
export class StreamStats {
  batches = 0;
  events = 0;
  bytes = 0;
  /** Batches that came again, or late, after they had been applied. */
  duplicates = 0;
  /** How often batches were missing. */
  gaps = 0;
  /** Gaps filled from the replay socket. */
  repairs = 0;
  /** How often everything known was discarded, as batches were lost for good. */
  drops = 0;
  /** How often the publisher restarted. */
  restarts = 0;
  /** Messages that were not a batch. */
  malformed = 0;
  /** Stored blocks without a key: their tokens or parent are unknown, or there is no room. */
  unnamed = 0;
  /** Events of unknown types, and of attention groups that do not keep the whole prefix. */
  skipped = 0;
}
