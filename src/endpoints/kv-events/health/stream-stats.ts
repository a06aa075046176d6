import { EventCounts, STREAM_COUNTS } from './event-counts.ts';
import { EventHealth } from './event-health.ts';

/** Counts of one endpoint's event stream since the endpoint was added. */
export class StreamStats {
  /** Messages of the publisher, whether they can be read or not, without replayed ones. */
  messages = 0;
  batches = 0;
  events = 0;
  bytes = 0;
  /** Connections after the first one. */
  reconnections = 0;
  /** Batches that came again, or late, after they had been applied. */
  duplicates = 0;
  /** How often batches were missing. */
  gaps = 0;
  /** Gaps filled from the replay socket. */
  repairs = 0;
  /**
   * How often everything known was discarded, because batches were lost and could not be had again.
   */
  drops = 0;
  /** How often the publisher restarted. */
  restarts = 0;
  /** Messages that were not a batch. */
  malformed = 0;
  /** Stored blocks without a key: their tokens or parent are unknown, or there is no room. */
  unnamed = 0;
  /** Events of unknown types, and of attention groups that do not keep the whole prefix. */
  skipped = 0;
  /** Whether its events can be used. */
  readonly health: EventHealth = new EventHealth();
  /** Counts of all endpoints together, also of those that have left. */
  readonly total: EventCounts;

  constructor(total: EventCounts = new EventCounts()) {
    this.total = total;
  }

  /**
   * To be called once, when the endpoint leaves: adds its counts to those of endpoints that have
   * left.
   */
  leave(): void {
    for (const name of STREAM_COUNTS) this.total.left[name] += this[name];
  }
}
