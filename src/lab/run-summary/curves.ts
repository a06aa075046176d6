import { BINS, binLength, binOf, rateOf } from './hit-ladder.ts';
import type { RequestResult, SimulationResult } from './run-result.ts';
import { tpotOf } from './service-objective.ts';
import { quantile, sorted } from './statistics.ts';

/** The data of a run's charts. Times are in milliseconds. */
export interface SimulationCurves {
  /** The 0th, 1st, … 100th percentiles, like the two below. */
  readonly ttft: readonly number[];
  readonly tpot: readonly number[];
  readonly e2e: readonly number[];
  /** Length of a bin; the trace has `BINS` of them. */
  readonly binMs: number;
  /** Share of prompt tokens found in a cache, by bin; NaN for a bin without requests. */
  readonly hitRate: readonly number[];
  /** Mean number of requests that wait for their first token, queued or in prefill, by bin. */
  readonly waiting: readonly number[];
  /** Tokens that were computed, of prompts and answers: by server, then by bin. */
  readonly load: readonly (readonly number[])[];
}

/** The curves of the completed requests. */
export function curvesOf(
  { requests }: Pick<SimulationResult, 'requests'>,
  { servers }: { readonly servers: readonly unknown[] },
): SimulationCurves {
  const served = requests.filter(({ completed }) => completed);
  const binMs = binLength(requests.at(-1)?.request.atMs ?? 0);
  const load = servers.map(() => zeros());
  for (const { server, request, cachedTokens } of served) {
    const row = load[server];
    if (row === undefined) continue;
    const bin = binOf(request.atMs, binMs);
    row[bin] = (row[bin] ?? 0) + request.promptTokens - cachedTokens + request.outputTokens;
  }
  const asked = served.map(({ request }) => request);
  const cached = served.map(({ cachedTokens }) => cachedTokens);
  return {
    ttft: hundredths(served.map(({ ttftMs }) => ttftMs)),
    tpot: hundredths(served.map(tpotOf)),
    e2e: hundredths(served.map(({ e2eMs }) => e2eMs)),
    binMs,
    hitRate: rateOf(asked, cached, binMs).spans,
    waiting: waitingOf(requests, binMs),
    load,
  };
}

function zeros(): number[] {
  return Array.from({ length: BINS }, () => 0);
}

/** The sum over all requests of the time that they wait in each bin, divided by its length. */
function waitingOf(requests: readonly RequestResult[], binMs: number): readonly number[] {
  const waiting = zeros();
  for (const { request, ttftMs, e2eMs } of requests) {
    const from = request.atMs;
    const until = from + (Number.isNaN(ttftMs) ? e2eMs : ttftMs);
    for (let bin = binOf(from, binMs); bin < BINS && bin * binMs < until; bin++) {
      const inside = Math.min(until, (bin + 1) * binMs) - Math.max(from, bin * binMs);
      waiting[bin] = (waiting[bin] ?? 0) + Math.max(0, inside) / binMs;
    }
  }
  return waiting;
}

function hundredths(values: readonly number[]): readonly number[] {
  const ascending = sorted(values);
  return Array.from({ length: 101 }, (_, percent) => quantile(ascending, percent / 100));
}
