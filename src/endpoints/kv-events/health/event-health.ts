/** Why stored blocks of an endpoint cannot be used. Few values: it labels a metric. */
export type UnusableReason = (typeof UNUSABLE_REASONS)[number];

export const UNUSABLE_REASONS = [
  /** Requests have ended there, and no event has come. */
  'no-events',
  /** The block before them was never published here. */
  'unknown-parent',
  /** Without the ids of their tokens, or with fewer than their size says. */
  'no-tokens',
  /** The index is full. */
  'no-room',
  /** They belong to KV-cache groups that do not keep the whole prefix. */
  'attention-kind',
] as const;

/** What to do about it. */
export const UNUSABLE_ADVICE: Readonly<Record<UnusableReason, string>> = {
  'no-events':
    'requests have ended there and no KV event has come: let the model server publish them, and compare its address, port and topic with kvEventsConfig',
  'unknown-parent':
    'its blocks follow blocks that were published before this picker was connected: set podDiscoveryConfig.replaySocketPort',
  'no-tokens': 'its events name blocks without the ids of their tokens',
  'no-room': 'the index is full: raise indexerConfig.kvBlockIndexConfig.inMemoryConfig.size',
  'attention-kind': 'all its events are of KV-cache groups that do not keep the whole prefix',
};

/** Events without any use, before they count as a problem. One or two are normal after a start. */
const UNUSABLE_MIN = 8;
/** Older events count half, so that the answer is about now. */
const WINDOW = 128;
/** Prompts of a block or more that end without any event before that counts as a problem. */
const SILENT_REQUESTS_MIN = 20;

/** Whether the events of one endpoint can be used, from the last hundred of them or so. */
export class EventHealth {
  /** Stored events by why they could not be used, since the endpoint was added. */
  readonly unusable: Map<UnusableReason, number> = new Map();
  #used = 0;
  #unused = 0;
  #ofOtherKinds = 0;
  #silentRequests = 0;
  #last: UnusableReason | undefined;

  /** Counts an event that stores blocks; `reason`: why it, or a part of it, is of no use. */
  stored(reason: UnusableReason | undefined): void {
    this.#silentRequests = 0;
    if (reason === undefined) this.#used += 1;
    else this.#count(reason);
    if (this.#used + this.#unused + this.#ofOtherKinds < WINDOW) return;
    this.#used = Math.ceil(this.#used / 2);
    this.#unused = Math.floor(this.#unused / 2);
    this.#ofOtherKinds = Math.floor(this.#ofOtherKinds / 2);
  }

  /** Counts a request with a prompt of at least a block that ended before any event came. */
  silentRequest(): void {
    this.#silentRequests += 1;
    if (this.#silentRequests === SILENT_REQUESTS_MIN) this.#count('no-events');
  }

  /** The events of a new stream say nothing about those before it. */
  restart(): void {
    this.#used = 0;
    this.#unused = 0;
    this.#ofOtherKinds = 0;
    this.#last = undefined;
  }

  /** Why the events cannot be used, where that is so now. */
  get problem(): UnusableReason | undefined {
    if (this.#silentRequests >= SILENT_REQUESTS_MIN) return 'no-events';
    // A model with several kinds of attention publishes groups that are of no use beside one that
    // is.
    if (this.#used === 0 && this.#ofOtherKinds >= UNUSABLE_MIN) return 'attention-kind';
    return this.#unused >= UNUSABLE_MIN && this.#unused > this.#used ? this.#last : undefined;
  }

  #count(reason: UnusableReason): void {
    this.unusable.set(reason, (this.unusable.get(reason) ?? 0) + 1);
    if (reason === 'attention-kind') this.#ofOtherKinds += 1;
    else if (reason !== 'no-events') {
      this.#unused += 1;
      this.#last = reason;
    }
  }
}
