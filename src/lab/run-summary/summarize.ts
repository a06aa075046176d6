import { foundTokens, type SimulationResult } from './run-result.ts';
import { isGood, type ServiceObjective, STUDY_OBJECTIVE, tpotOf } from './service-objective.ts';
import { mean, quantile } from './statistics.ts';

/** The figures of a run by which policies are compared. Times are in milliseconds. */
export interface SimulationSummary {
  readonly requests: number;
  readonly failed: number;
  /** NaN if no request was served, as are the times below. */
  readonly ttftMeanMs: number;
  readonly ttftP50Ms: number;
  readonly ttftP99Ms: number;
  /** Per token after the first; NaN where no answer has one. */
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
  const ttftMs = new Float64Array(requests.length);
  const sums = { tpotMs: 0, withFurther: 0, e2eMs: 0, foundTokens: 0, promptTokens: 0 };
  let [served, good] = [0, 0];
  for (const each of requests) {
    if (!each.completed) continue;
    ttftMs[served] = each.ttftMs;
    served += 1;
    if (isGood(each, objective)) good += 1;
    // An answer of one token has no further token.
    if (each.request.outputTokens > 1) {
      sums.tpotMs += tpotOf(each);
      sums.withFurther += 1;
    }
    sums.e2eMs += each.e2eMs;
    sums.foundTokens += foundTokens(each);
    sums.promptTokens += each.request.promptTokens;
  }
  const ttfts = ttftMs.subarray(0, served).sort();
  return {
    requests: requests.length,
    failed: requests.length - served,
    ttftMeanMs: mean(ttfts),
    ttftP50Ms: quantile(ttfts, 0.5),
    ttftP99Ms: quantile(ttfts, 0.99),
    tpotMeanMs: sums.tpotMs / sums.withFurther,
    e2eMeanMs: sums.e2eMs / served,
    goodput: good / Math.max(1, requests.length),
    hitRate: sums.foundTokens / Math.max(1, sums.promptTokens),
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
  let [prompt, output] = [0, 0];
  for (const each of requests) {
    if (!isGood(each, objective)) continue;
    prompt += each.request.promptTokens;
    output += each.request.outputTokens;
  }
  const seconds = Math.max(1, requests.at(-1)?.request.atMs ?? 0) / 1000;
  return {
    requestsPerSecond: requests.length / seconds,
    goodTokensPerSecond: (prompt + output) / seconds,
    goodOutputTokensPerSecond: output / seconds,
  };
}
