import { BINS, binLength, binOf, HitCounts } from './hit-ladder.ts';
import { foundTokens, type RequestResults, type SimulationResult } from './run-result.ts';
import { tpotOf } from './service-objective.ts';
import { quantile } from './statistics.ts';

/** The data of a run's charts. Times are in milliseconds. */
export interface SimulationCurves {
  /** The 0th, 1st, … 100th percentiles, like the two below. */
  readonly ttft: readonly number[];
  /** Answers of one token do not count here. */
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
  const binMs = binLength(requests.at(-1)?.request.atMs ?? 0);
  const load = servers.map(() => zeros());
  const hits = new HitCounts(binMs);
  const column = (): Float64Array => new Float64Array(requests.length);
  const [ttft, tpot, e2e] = [column(), column(), column()];
  let [served, withFurther] = [0, 0];
  for (const each of requests) {
    if (!each.completed) continue;
    const { server, request, cachedTokens, prefill } = each;
    ttft[served] = each.ttftMs;
    // An answer of one token has no further token.
    if (request.outputTokens > 1) tpot[withFurther++] = tpotOf(each);
    e2e[served] = each.e2eMs;
    served += 1;
    hits.add(request, foundTokens(each));
    const bin = binOf(request.atMs, binMs);
    const { promptTokens, outputTokens } = request;
    addWork(load[server], bin, promptTokens - cachedTokens + outputTokens);
    if (prefill !== undefined)
      addWork(load[prefill.server], bin, promptTokens - prefill.cachedTokens);
  }
  const percentiles = (values: Float64Array, count = served): readonly number[] =>
    hundredths(values.subarray(0, count).sort());
  return {
    ttft: percentiles(ttft),
    tpot: percentiles(tpot, withFurther),
    e2e: percentiles(e2e),
    binMs,
    hitRate: hits.rate().spans,
    waiting: waitingOf(requests, binMs),
    load,
  };
}

/** There is no row for a server that is in no pool, as those of a replay. */
function addWork(row: number[] | undefined, bin: number, tokens: number): void {
  if (row !== undefined) row[bin] = (row[bin] ?? 0) + tokens;
}

function zeros(): number[] {
  return Array.from({ length: BINS }, () => 0);
}

/** The sum over all requests of the time that they wait in each bin, divided by its length. */
function waitingOf(requests: RequestResults, binMs: number): readonly number[] {
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

function hundredths(ascending: Float64Array): readonly number[] {
  return Array.from({ length: 101 }, (_, percent) => quantile(ascending, percent / 100));
}
