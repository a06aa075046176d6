import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** The capacity until one is known: the reference's 31,250 blocks of 16 tokens. */
const CAPACITY_TOKENS_DEFAULT = 500_000;
/** Fewer samples show nothing. */
const SAMPLES_MIN = 20;
/** How much of what is known each new sample changes. */
const SAMPLE_SHARE = 0.01;

/** Means, and how both vary together, of the tokens of running requests and the share in use. */
interface Shown {
  sampledAt: Millis;
  samples: number;
  meanTokens: number;
  meanShare: number;
  tokensVariance: number;
  covariance: number;
}

/**
 * The KV memory of endpoints, as they report it, or else as it is shown: by how much the share in
 * use grows with the tokens of the requests that run there, as large as ours are. A share that is in
 * use by something else, or always the same, shows nothing. Where requests share beginnings, memory
 * looks larger than it is.
 */
export class MemorySizes {
  /** By slot. */
  readonly #shown: (Shown | undefined)[] = [];

  /** Learns from the sample of the endpoint at the pick, once from each, and from what we had there. */
  see({ endpoint, load: { requests, contextTokens } }: Pick<Routed, 'endpoint' | 'load'>): void {
    if (endpoint.attribute(CACHE_CONFIG) !== undefined) return;
    const { runningRequests, kvCacheUsage, sampledAt } = endpoint.metrics;
    const shown = (this.#shown[endpoint.slot] ??= nothingShown());
    if (sampledAt <= shown.sampledAt) return;
    if (requests === 0 && runningRequests > 0) return;
    shown.sampledAt = sampledAt;
    const tokens = runningRequests === 0 ? 0 : (contextTokens / requests) * runningRequests;
    add(shown, tokens, kvCacheUsage);
  }

  /** In tokens as we count them, of which there are `tokenRatio` for each of an engine. */
  of(endpoint: Endpoint, tokenRatio: number): number {
    const reported = endpoint.attribute(CACHE_CONFIG);
    if (reported !== undefined) return reported.blocks * reported.blockTokens * tokenRatio;
    return Math.min(CAPACITY_TOKENS_DEFAULT * tokenRatio, this.#shownTokens(endpoint));
  }

  forget({ slot }: Endpoint): void {
    this.#shown[slot] = undefined;
  }

  /** Infinite where nothing is shown. */
  #shownTokens({ slot }: Endpoint): number {
    const shown = this.#shown[slot];
    if (shown === undefined || shown.samples < SAMPLES_MIN) return Number.POSITIVE_INFINITY;
    const { tokensVariance, covariance } = shown;
    return covariance > 0 ? tokensVariance / covariance : Number.POSITIVE_INFINITY;
  }
}

function nothingShown(): Shown {
  const zeros = { meanTokens: 0, meanShare: 0, tokensVariance: 0, covariance: 0 };
  return { sampledAt: Number.NEGATIVE_INFINITY, samples: 0, ...zeros };
}

function add(shown: Shown, tokens: number, share: number): void {
  shown.samples += 1;
  const weight = Math.max(1 / shown.samples, SAMPLE_SHARE);
  const tokensOff = tokens - shown.meanTokens;
  const shareOff = share - shown.meanShare;
  shown.meanTokens += weight * tokensOff;
  shown.meanShare += weight * shareOff;
  shown.tokensVariance = (1 - weight) * (shown.tokensVariance + weight * tokensOff * tokensOff);
  shown.covariance = (1 - weight) * (shown.covariance + weight * tokensOff * shareOff);
}
