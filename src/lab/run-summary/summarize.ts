import type { SimulationResult } from './run-result.ts';
import { isGood, type ServiceObjective, STUDY_OBJECTIVE, tpotOf } from './service-objective.ts';
import { mean, quantile, sorted, sum } from './statistics.ts';

/** The figures of a run by which policies are compared. Times are in milliseconds. */
export interface SimulationSummary {
  readonly requests: number;
  readonly failed: number;
  /** NaN if no request was served, as are the times below. */
  readonly ttftMeanMs: number;
  readonly ttftP50Ms: number;
  readonly ttftP99Ms: number;
  /** Per token after the first. */
  readonly tpotMeanMs: number;
  readonly e2eMeanMs: number;
  /** Share of requests that met the objective; by default TTFT < 2 s and TPOT < 100 ms. */
  readonly goodput: number;
  /** Share of prompt tokens found in a prefix cache. */
  readonly hitRate: number;
  readonly preemptions: number;
}

/** The figures of one run; latencies are of completed requests only. */
export function summarize(
  { requests, preemptions }: SimulationResult,
  objective: ServiceObjective = STUDY_OBJECTIVE,
): SimulationSummary {
  const served = requests.filter(({ completed }) => completed);
  const ttfts = sorted(served.map(({ ttftMs }) => ttftMs));
  const good = served.filter((each) => isGood(each, objective));
  return {
    requests: requests.length,
    failed: requests.length - served.length,
    ttftMeanMs: mean(ttfts),
    ttftP50Ms: quantile(ttfts, 0.5),
    ttftP99Ms: quantile(ttfts, 0.99),
    tpotMeanMs: mean(served.map(tpotOf)),
    e2eMeanMs: mean(served.map(({ e2eMs }) => e2eMs)),
    goodput: good.length / Math.max(1, requests.length),
    hitRate:
      sum(served.map(({ cachedTokens }) => cachedTokens)) /
      Math.max(1, sum(served.map(({ request }) => request.promptTokens))),
    preemptions,
  };
}

/** Per second, from the start of the trace to its last arrival. */
export interface Throughput {
  readonly requestsPerSecond: number;
  /** Prompt and output tokens of requests that met the objective. */
  readonly goodTokensPerSecond: number;
  readonly goodOutputTokensPerSecond: number;
}

/** Rates over the time from 0 to the last arrival. */
export function throughputOf(
  { requests }: SimulationResult,
  objective: ServiceObjective,
): Throughput {
  const good = requests.filter((each) => isGood(each, objective));
  const seconds = Math.max(1, requests.at(-1)?.request.atMs ?? 0) / 1000;
  const output = sum(good.map(({ request }) => request.outputTokens));
  const prompt = sum(good.map(({ request }) => request.promptTokens));
  return {
    requestsPerSecond: requests.length / seconds,
    goodTokensPerSecond: (prompt + output) / seconds,
    goodOutputTokensPerSecond: output / seconds,
  };
}
