import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Millis } from '../../framework/runtime.ts';

/**
 * So many collections of the whole heap within `OFTEN_MS` are often, and over `SELDOM_MS` seldom.
 */
const COUNTED = 4;
const OFTEN_MS: Millis = 12_000;
const SELDOM_MS: Millis = 60_000;
/** The share of the heap's limit that may be in use where the heap may double. */
const USED_SHARE_MAX = 0.25;

/** What Node reports of a collection. */
type Collection = PerformanceEntry & { readonly detail: { readonly kind: number } };

const FLAG = 'heap-growing-percent';

/** Whether the heap may double before it is collected, by when it was collected lately. */
export class CollectionPace {
  readonly #times: Millis[] = [];
  /** Whether the heap may double. */
  doubles = false;

  /**
   * The whole heap has been collected. `usedShare` is the share of its limit that is still in use.
   */
  collected(now: Millis, usedShare: number): void {
    this.#times.push(now);
    if (this.#times.length > COUNTED) this.#times.shift();
    const span = now - (this.#times[0] as Millis);
    if (usedShare > USED_SHARE_MAX || span > SELDOM_MS) this.doubles = false;
    else if (this.#times.length === COUNTED && span <= OFTEN_MS) this.doubles = true;
  }
}

/**
 * While the whole heap is collected often and is far from its limit, lets it double from one
 * collection to the next; by itself V8 lets a small heap grow by some megabytes only. Does nothing
 * where Node was started with a growth of its own.
 */
export function slowCollections(given: readonly string[]): CollectionPace {
  const pace = new CollectionPace();
  if (given.some((flag) => flag.includes(FLAG))) return pace;
  new PerformanceObserver((list) => {
    const before = pace.doubles;
    for (const { startTime, detail } of list.getEntries() as unknown as readonly Collection[]) {
      if (detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
      const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
      pace.collected(startTime, used / limit);
    }
    // 0 is V8's own rule.
    if (pace.doubles !== before) setFlagsFromString(`--${FLAG}=${pace.doubles ? 100 : 0}`);
  }).observe({ entryTypes: ['gc'] });
  return pace;
}
