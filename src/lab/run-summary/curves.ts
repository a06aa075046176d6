import { BINS, binLength, binOf } from './bins.ts';
import { rateOf } from './hit-ladder.ts';
import type { RequestResult, SimulationResult } from './run-result.ts';
import { tpotOf } from './service-objective.ts';

/** What a picture is drawn from. Times in milliseconds. */
export interface SimulationCurves {
  /** The values that 0, 1, … 100 of a hundred requests stay below. */
  readonly ttft: readonly number[];
  readonly tpot: readonly number[];
  readonly e2e: readonly number[];
  /** One for each of `BINS` equal spans of the trace. */
  readonly binMs: number;
  /** Share of prompt tokens found in a cache, in each span; NaN where nothing came. */
  readonly hitRate: readonly number[];
  /** Requests that wait for their first token, in queues or being computed: the mean over each span. */
  readonly waiting: readonly number[];
  /** Tokens, prompts and answers, that each server was given in each span: by server, then by span. */
  readonly load: readonly (readonly number[])[];
}

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
  return {
    ttft: hundredths(served.map(({ ttftMs }) => ttftMs)),
    tpot: hundredths(served.map(tpotOf)),
    e2e: hundredths(served.map(({ e2eMs }) => e2eMs)),
    binMs,
    hitRate: rateOf(
      served.map(({ request }) => request),
      served.map(({ cachedTokens }) => cachedTokens),
      binMs,
    ).spans,
    waiting: waitingOf(requests, binMs),
    load,
  };
}

function zeros(): number[] {
  return Array.from({ length: BINS }, () => 0);
}

/** Time waited in each span, as a share of it, over all requests. */
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
  const sorted = Float64Array.from(values).sort();
  return Array.from({ length: 101 }, (_, share) => {
    const at = Math.min(sorted.length - 1, Math.floor((share / 100) * sorted.length));
    return sorted[at] ?? Number.NaN;
  });
}
