import type { Endpoint } from '../../framework/endpoint.ts';
import type { EndpointObserver, Usage } from '../../framework/observer.ts';
import { hasRestarted } from '../pool/has-restarted.ts';

/**
 * Knows which servers count cached tokens in their answers. vLLM (`--enable-prompt-tokens-details`)
 * and SGLang (`--enable-cache-report`) leave the count out where it is 0, as those do that count
 * nothing. So no count is a 0 where an answer of the same server, in the same form, has had one.
 */
export class CachedCounts implements EndpointObserver {
  /** By slot; undefined where no answer has had a count. */
  readonly #counts: (true | undefined)[] = [];

  /** The usage that this server has reported, with the count that it has left out. */
  completed({ slot }: Endpoint, usage: Usage): Usage {
    const { leavesOutZero, ...counts } = usage;
    if (leavesOutZero !== true) return usage;
    if (counts.cachedTokens !== undefined) this.#counts[slot] = true;
    else if (this.#counts[slot] === true) return { ...counts, cachedTokens: 0 };
    return counts;
  }

  /** A server that has started again may have other settings. */
  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    if (hasRestarted(endpoint, previous)) this.#forget(endpoint);
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#forget(endpoint);
  }

  #forget({ slot }: Endpoint): void {
    this.#counts[slot] = undefined;
  }
}
