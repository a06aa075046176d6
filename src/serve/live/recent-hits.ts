import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** A request counts less the older it is: half after 41 s. */
const MEMORY_MS = 60_000;

/** The share of the prompt tokens lately sent to an endpoint that was expected in its cache. */
export class RecentHits {
  /** By slot: tokens, cached tokens, and when they were added last. */
  readonly #sums: (Float64Array | undefined)[] = [];

  add({ endpoint, request, cachedTokens, at }: Routed): void {
    const sums = (this.#sums[endpoint.slot] ??= new Float64Array(3));
    const [tokens = 0, cached = 0, last = 0] = sums;
    const kept = last === 0 ? 0 : Math.exp((last - at) / MEMORY_MS);
    sums[0] = kept * tokens + request.promptTokens;
    sums[1] = kept * cached + cachedTokens;
    sums[2] = at;
  }

  /** From 0 to 1; undefined where nothing was sent of late. */
  rate({ slot }: Endpoint, now: Millis): number | undefined {
    const [tokens = 0, cached = 0, last = 0] = this.#sums[slot] ?? [];
    return tokens === 0 || now - last > 5 * MEMORY_MS ? undefined : Math.min(1, cached / tokens);
  }

  forget(slot: number): void {
    this.#sums[slot] = undefined;
  }
}
