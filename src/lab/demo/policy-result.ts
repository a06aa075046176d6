import type { OpenLoopResult } from '../replay/open-loop.ts';
import { summarizeReplay } from '../replay/summarize-replay.ts';
import { mean, quantile, sorted, sum } from '../run-summary/statistics.ts';
import type { TraceRequest } from '../traces/trace.ts';

/** The figures of one policy. */
export interface PolicyResult {
  /** Name of its configuration. */
  readonly policy: string;
  readonly requests: number;
  readonly errors: number;
  /** One of the errors. */
  readonly firstError: string | undefined;
  /** NaN if no request had a first token. */
  readonly ttftMs: Readonly<Record<'mean' | 'p50' | 'p90' | 'p99', number>>;
  /** Output tokens per second that reached the client while requests were arriving. */
  readonly tokensPerSecond: number;
  /** Share of prompt tokens that the engines found in their caches, by their own counters. */
  readonly prefixHitRate: number;
  /** The busiest endpoint over the mean; 1 is even. */
  readonly balance: { readonly requests: number; readonly promptTokens: number };
  /**
   * How late requests were sent, p99. Tens of milliseconds mean that this machine is overloaded.
   */
  readonly senderLateP99Ms: number;
}

interface PolicyResultOptions {
  readonly policy: string;
  /** Answers that the run has cut after their first token count as sound. */
  readonly run: OpenLoopResult;
  readonly prefixHitRate: number;
  /** Number of endpoints in the pool, those without a request included. */
  readonly endpoints: number;
}

/** What a run of the demo measured of one policy. */
export function policyResult(options: PolicyResultOptions): PolicyResult {
  const { policy, run, prefixHitRate, endpoints } = options;
  const { errors, late } = summarizeReplay(run, run.sent.length).figures;
  const [first] = errors;
  const answered = run.sent.filter(({ ttftMs }) => !Number.isNaN(ttftMs));
  const ttfts = sorted(answered.map(({ ttftMs }) => ttftMs));
  return {
    policy,
    requests: run.sent.length,
    errors: sum(errors.map(({ count }) => count)),
    firstError: first && `${first.kind}: ${first.first}`,
    ttftMs: {
      mean: mean(ttfts),
      p50: quantile(ttfts, 0.5),
      p90: quantile(ttfts, 0.9),
      p99: quantile(ttfts, 0.99),
    },
    tokensPerSecond: run.arrivals.tokens / (run.arrivals.durationMs / 1000),
    prefixHitRate,
    balance: {
      requests: maxOverMean(run, endpoints, () => 1),
      promptTokens: maxOverMean(run, endpoints, ({ promptTokens }) => promptTokens),
    },
    senderLateP99Ms: late.p99,
  };
}

/** 0 if no endpoint served a request. */
function maxOverMean(
  { sent }: OpenLoopResult,
  endpoints: number,
  weight: (request: TraceRequest) => number,
): number {
  const sums = new Map<string, number>();
  for (const { request, end } of sent) {
    const name = typeof end === 'string' ? undefined : end.servedBy;
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + weight(request));
  }
  const all = [...sums.values()];
  return all.length === 0 ? 0 : Math.max(...all) / (sum(all) / endpoints);
}
