import type { SimulationResult } from './run-result.ts';
import { isGood, type ServiceObjective, STUDY_OBJECTIVE, tpotOf } from './service-objective.ts';

/** What a policy is judged by. Times in milliseconds. */
export interface SimulationSummary {
  readonly requests: number;
  readonly failed: number;
  /** This and the times below: NaN where nothing was served. */
  readonly ttftMeanMs: number;
  readonly ttftP50Ms: number;
  readonly ttftP99Ms: number;
  /** After the first token. */
  readonly tpotMeanMs: number;
  readonly e2eMeanMs: number;
  /** Share of requests that met the objective: TTFT under 2 s and under 100 ms per further token unless said. */
  readonly goodput: number;
  /** Share of prompt tokens found in a prefix cache. */
  readonly hitRate: number;
  readonly preemptions: number;
}

export function summarize(
  { requests, preemptions }: SimulationResult,
  objective: ServiceObjective = STUDY_OBJECTIVE,
): SimulationSummary {
  const served = requests.filter(({ completed }) => completed);
  const ttfts = Float64Array.from(served, ({ ttftMs }) => ttftMs).sort();
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

function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < values.length; index++) total += values[index] as number;
  return total;
}

function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length;
}

/** Of sorted values; the nearest rank. */
function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
