import type { SimulationResult } from './run-result.ts';
import { isGood, type ServiceObjective } from './service-objective.ts';

/** What came in and what good it did, for each second in which requests came. */
export interface Throughput {
  readonly requestsPerSecond: number;
  /** Prompts and answers of requests that met the objective. */
  readonly goodTokensPerSecond: number;
  /** Answers alone. */
  readonly goodOutputTokensPerSecond: number;
}

export function throughputOf(
  { requests }: SimulationResult,
  objective: ServiceObjective,
): Throughput {
  const good = requests.filter((each) => isGood(each, objective));
  const seconds = Math.max(1, requests.at(-1)?.request.atMs ?? 0) / 1000;
  const output = good.reduce((sum, { request }) => sum + request.outputTokens, 0);
  const prompt = good.reduce((sum, { request }) => sum + request.promptTokens, 0);
  return {
    requestsPerSecond: requests.length / seconds,
    goodTokensPerSecond: (prompt + output) / seconds,
    goodOutputTokensPerSecond: output / seconds,
  };
}
