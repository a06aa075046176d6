import type { OpenLoopResult } from './open-loop.ts';

/** What one policy made of the workload. */
export interface PolicyResult {
  /** Its configuration's name. */
  readonly policy: string;
  readonly requests: number;
  readonly errors: number;
  /** One of the errors, to begin with. */
  readonly firstError: string | undefined;
  readonly ttftMs: {
    readonly mean: number;
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
  };
  /** Output tokens that reached the client a second, while requests were arriving. */
  readonly tokensPerSecond: number;
  /** Share of prompt tokens that the engines found in their caches, from their own counters. */
  readonly prefixHitRate: number;
  /** The busiest endpoint over the mean; 1 is even. */
  readonly balance: { readonly requests: number; readonly promptTokens: number };
  /** How late this machine sent, p99: above some tens of ms it has no room left and the figures say so. */
  readonly senderLateP99Ms: number;
}

export interface PolicyResultOptions {
  readonly policy: string;
  readonly run: OpenLoopResult;
  readonly prefixHitRate: number;
  /** Endpoints in the pool; those that got nothing count as well. */
  readonly endpoints: number;
}

export function policyResult(options: PolicyResultOptions): PolicyResult {
  const { policy, run, prefixHitRate, endpoints } = options;
  const { requests, tokensWhileArriving, arrivingMs } = run;
  const failed = requests.filter(({ error }) => error !== undefined);
  const ttfts = requests.flatMap(({ ttftMs }) => (ttftMs === undefined ? [] : [ttftMs]));
  return {
    policy,
    requests: requests.length,
    errors: failed.length,
    firstError: failed[0]?.error,
    ttftMs: {
      mean: mean(ttfts),
      p50: quantile(ttfts, 0.5),
      p90: quantile(ttfts, 0.9),
      p99: quantile(ttfts, 0.99),
    },
    tokensPerSecond: tokensWhileArriving / (arrivingMs / 1000),
    prefixHitRate,
    balance: {
      requests: maxOverMean(run, endpoints, () => 1),
      promptTokens: maxOverMean(run, endpoints, ({ promptTokens }) => promptTokens),
    },
    senderLateP99Ms: quantile(
      requests.map(({ lateMs }) => lateMs),
      0.99,
    ),
  };
}

function maxOverMean(
  { requests }: OpenLoopResult,
  endpoints: number,
  weight: (request: OpenLoopResult['requests'][number]) => number,
): number {
  const sums = new Map<string, number>();
  let total = 0;
  for (const request of requests) {
    if (request.endpoint === undefined) continue;
    sums.set(request.endpoint, (sums.get(request.endpoint) ?? 0) + weight(request));
    total += weight(request);
  }
  return total === 0 ? 0 : Math.max(...sums.values()) / (total / endpoints);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The smallest value that at least the share `q` of the values does not exceed; 0 without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0;
}
