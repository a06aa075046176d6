import type { Endpoint } from '../../src/framework/endpoint.ts';
import {
  CACHE_CONFIG,
  CONTEXT_WINDOW,
  ENGINE_COUNT,
  LORA,
  type LoraState,
} from '../../src/framework/endpoint-attributes.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** What the last sample of an endpoint says, as the cost needs it. */
export interface EndpointSample {
  /** How many engines it has; what is said of memory is said of each. */
  readonly engines: number;
  /** 0 where the engine reports no size of its KV memory. */
  readonly capacityTokens: number;
  /** KV memory in use, as the engine reports it. */
  readonly usedTokens: number;
  /** See `tokensByEach`. */
  readonly usedByEach: number;
  /** The most tokens that it takes of a prompt with its answer; infinite where that is unknown. */
  readonly windowTokens: number;
  readonly lora: LoraState | undefined;
  readonly sampledAt: Millis;
}

interface KnownSample extends EndpointSample {
  readonly endpoint: Endpoint;
}

/** What each request that runs holds of the tokens in use, in the mean; 0 where none runs. */
export function tokensByEach(usedTokens: number, runningRequests: number): number {
  return runningRequests > 0 ? usedTokens / runningRequests : 0;
}

/**
 * Samples by slot, each computed once: an endpoint never changes, and the pool replaces few of them
 * between two decisions. With hundreds of endpoints looking up attributes would take longer than
 * the costs.
 */
export class EndpointSamples {
  readonly #known: (KnownSample | undefined)[] = [];

  of(endpoint: Endpoint): EndpointSample {
    const known = this.#known[endpoint.slot];
    return known?.endpoint === endpoint ? known : this.#read(endpoint);
  }

  /** Whether it reports the model as an adapter. */
  hasAdapter(endpoint: Endpoint, model: string): boolean {
    const { lora } = this.of(endpoint);
    return lora !== undefined && (lora.running.has(model) || lora.waiting.has(model));
  }

  forget({ slot }: Endpoint): void {
    this.#known[slot] = undefined;
  }

  #read(endpoint: Endpoint): EndpointSample {
    const cache = endpoint.attribute(CACHE_CONFIG);
    // At least one: an engine that reports no memory must not make all costs infinite.
    const capacityTokens = cache ? Math.max(1, cache.blocks * cache.blockTokens) : 0;
    const usedTokens = endpoint.metrics.kvCacheUsage * capacityTokens;
    const engines = endpoint.attribute(ENGINE_COUNT);
    const { sampledAt, runningRequests } = endpoint.metrics;
    const usedByEach = tokensByEach(usedTokens, runningRequests / engines);
    // Its memory is no limit: an engine may shorten an answer that does not fit.
    const windowTokens = endpoint.attribute(CONTEXT_WINDOW) ?? Number.POSITIVE_INFINITY;
    const lora = endpoint.attribute(LORA);
    const known = { endpoint, engines, capacityTokens, usedTokens, usedByEach };
    const sample = { ...known, windowTokens, lora, sampledAt };
    this.#known[endpoint.slot] = sample;
    return sample;
  }
}
