import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { runningTokens } from '../../cost-model/held-memory.ts';
import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointEntry } from './endpoint-entry.ts';
import type { Ledger } from './ledger.ts';

/** Requests may hold so many times the tokens that we count, such as those of images. */
const TIMES_COUNTED = 4;

export interface KeptMemoryOptions {
  readonly pool: { snapshot(): readonly Endpoint[] };
  readonly ledger: Pick<Ledger, 'entryOf'>;
}

/** What the samples of one endpoint have shown. */
interface ShownMemory {
  readonly entry: EndpointEntry;
  sampledAt: Millis;
  /** Whether no request ran or waited in the last sample. */
  ranNothing: boolean;
  /** The share that no request held in that sample; undefined where it did not show that. */
  kept: number | undefined;
  /** Whether requests of ours were under way while it was said to run nothing. */
  hidesRunning: boolean;
}

/**
 * Learns how much of the KV memory that each server reports as in use is held by no request. Some
 * engines count in it the prompts that they keep to find them again, which they give away as soon
 * as a request needs the room. It is all that is in use while nothing runs, and what is in use
 * beyond several times the tokens of the requests that run, if they are ours and nothing waits. It
 * is never more than what is in use. Two samples in a row have to show it, because KV that another
 * server is about to fetch is soon gone. A server that says twice in a row that it runs nothing
 * while answers of ours are under way does not report what runs, and shows nothing until it does.
 * It looks only when a request is placed, because a capture has the samples of these times alone.
 */
export class KeptMemory {
  readonly #options: KeptMemoryOptions;
  /** By slot. */
  readonly #shown: (ShownMemory | undefined)[] = [];

  constructor(options: KeptMemoryOptions) {
    this.#options = options;
  }

  /** Returns whether what is known of an endpoint has changed. */
  look(at: Millis): boolean {
    const { pool, ledger } = this.#options;
    let hasChanged = false;
    for (const endpoint of pool.snapshot()) {
      const entry = ledger.entryOf(endpoint);
      if (entry === undefined || !isFresh(endpoint, at)) continue;
      const { keptShare } = entry.load;
      this.#lookAt(endpoint, entry);
      if (entry.load.keptShare !== keptShare) hasChanged = true;
    }
    return hasChanged;
  }

  #lookAt(endpoint: Endpoint, entry: EndpointEntry): void {
    const { runningRequests, waitingQueueSize, sampledAt, kvCacheUsage } = endpoint.metrics;
    const shown = this.#shownOf(endpoint, entry);
    if (sampledAt <= shown.sampledAt) return;
    const ranNothing = runningRequests === 0 && waitingQueueSize === 0;
    const kept = keptIn(endpoint, entry);
    const keptInBoth = Math.min(kept ?? 0, shown.kept ?? 0);
    if (runningRequests > 0) shown.hidesRunning = false;
    else if (ranNothing && shown.ranNothing && entry.load.begunRequests > 0) {
      shown.hidesRunning = true;
    }
    const known = Math.min(entry.load.keptShare ?? 0, kvCacheUsage);
    if (shown.hidesRunning) learn(entry, 0);
    else learn(entry, ranNothing && shown.ranNothing ? keptInBoth : Math.max(known, keptInBoth));
    shown.sampledAt = sampledAt;
    shown.ranNothing = ranNothing;
    shown.kept = kept;
  }

  #shownOf({ slot }: Endpoint, entry: EndpointEntry): ShownMemory {
    const known = this.#shown[slot];
    if (known?.entry === entry) return known;
    const sampledAt = Number.NEGATIVE_INFINITY;
    const shown = { entry, sampledAt, ranNothing: false, kept: undefined, hidesRunning: false };
    this.#shown[slot] = shown;
    return shown;
  }
}

/** The share that no request held in the last sample; undefined where it does not show that. */
function keptIn(endpoint: Endpoint, { load }: EndpointEntry): number | undefined {
  const { runningRequests, waitingQueueSize, kvCacheUsage } = endpoint.metrics;
  if (waitingQueueSize > 0) return undefined;
  if (runningRequests === 0) return kvCacheUsage;
  const cache = endpoint.attribute(CACHE_CONFIG);
  // The requests of others may be of any size.
  if (cache === undefined || runningRequests > load.requests) return undefined;
  const countedTokens = runningTokens(loadPerEngine(load, endpoint), endpoint);
  const heldShare = (TIMES_COUNTED * countedTokens) / Math.max(1, cache.blocks * cache.blockTokens);
  return Math.max(0, kvCacheUsage - heldShare);
}

function learn({ load }: EndpointEntry, share: number): void {
  load.keptShare = share > 0 ? share : undefined;
}
