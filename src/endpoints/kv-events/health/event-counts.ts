/** The counts that are also kept for all endpoints together. */
export const STREAM_COUNTS = [
  'batches',
  'events',
  'duplicates',
  'gaps',
  'repairs',
  'drops',
  'restarts',
  'malformed',
  'unnamed',
  'skipped',
] as const;

export type StreamCount = (typeof STREAM_COUNTS)[number];

/** Events that were left out, with the reference's two labels. */
export interface LeftOut {
  readonly cacheKind: string;
  readonly reason: string;
  readonly count: number;
}

/** The kinds of attention of vLLM's cache groups. Others count as `other`: engines name them. */
const CACHE_KINDS: ReadonlySet<string> = new Set([
  'full_attention',
  'mla_attention',
  'sink_full_attention',
  'sliding_window',
  'sliding_window_mla',
  'chunked_local_attention',
  'mamba',
  'swa',
  'cross_attention',
]);

/** Events that were not applied, by the kind of their cache and the reason. */
export class SkippedEvents {
  readonly #counts = new Map<string, Map<string, number>>();

  count(kind: string | undefined, reason: string): void {
    const label = kind === undefined ? 'unknown' : CACHE_KINDS.has(kind) ? kind : 'other';
    let reasons = this.#counts.get(label);
    if (reasons === undefined) {
      reasons = new Map();
      this.#counts.set(label, reasons);
    }
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }

  *entries(): Iterable<LeftOut> {
    for (const [cacheKind, reasons] of this.#counts) {
      for (const [reason, count] of reasons) yield { cacheKind, reason, count };
    }
  }
}

/** Counts over all endpoints, also those that have left. The meanings are the reference's. */
export class EventCounts {
  /** Copies of blocks that were added to the index and removed from it. */
  admissions = 0;
  evictions = 0;
  /** Hashes in removals of blocks with another copy in the tier; the next field has all others. */
  removalsSuppressed = 0;
  removalsForwarded = 0;
  readonly storesSkipped: SkippedEvents = new SkippedEvents();
  readonly removalsSkipped: SkippedEvents = new SkippedEvents();
  /** Counts of the streams of endpoints that have left. */
  readonly left: Record<StreamCount, number> = {
    batches: 0,
    events: 0,
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
