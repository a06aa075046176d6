import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import type { Ended, Sent } from './bed.ts';
import { isGood } from './headroom-lead.ts';

/** One claim of the benchmark: a figure, its bound, and whether it holds. */
export interface Row {
  readonly claim: string;
  readonly measured: string;
  readonly bound: string;
  readonly holds: boolean;
}

export function atMost(claim: string, value: number, bound: number, digits = 2): Row {
  return rowOf(claim, value, { bound: `≤ ${bound}`, holds: value <= bound, digits });
}

export function atLeast(claim: string, value: number, bound: number, digits = 2): Row {
  return rowOf(claim, value, { bound: `≥ ${bound}`, holds: value >= bound, digits });
}

function rowOf(
  claim: string,
  value: number,
  { bound, holds, digits }: { bound: string; holds: boolean; digits: number },
): Row {
  return { claim, measured: value.toFixed(digits), bound, holds };
}

/** The requests whose sending fits, such as those of one client or of some time. */
export function among(ended: readonly Ended[], fits: (sent: Sent) => boolean): readonly Ended[] {
  return ended.filter(({ sent }) => fits(sent));
}

/** The time to the first token of those that were served, in milliseconds. */
export function ttft(ended: readonly Ended[], share: number): number {
  return quantile(sorted(ended.flatMap(({ ttftMs }) => ttftMs ?? [])), share);
}

/** Answers within the objectives, per second of the time from the first to the last arrival. */
export function goodPerSecond(ended: readonly Ended[], seconds: number): number {
  return ended.filter(isGood).length / seconds;
}

/** Requests without exactly one end, or with neither an answer nor a reason. */
export function lost(ended: readonly Ended[]): number {
  return ended.filter(
    ({ ends, ttftMs, refused }) => ends !== 1 || (ttftMs === undefined) === (refused === undefined),
  ).length;
}

/** Prompt and output tokens of answers whose first token came between two times, by tenant. */
export function servedTokens(
  ended: readonly Ended[],
  [fromMs, untilMs]: readonly [number, number],
): ReadonlyMap<string, number> {
  const tokens = new Map<string, number>();
  for (const { sent, ttftMs } of ended) {
    const at = sent.atMs + (ttftMs ?? Number.NaN);
    if (!(at >= fromMs && at < untilMs)) continue;
    const { tenant, promptTokens, outputTokens } = sent;
    tokens.set(tenant, (tokens.get(tenant) ?? 0) + promptTokens + outputTokens);
  }
  return tokens;
}

/** Jain's index: 1 where all are equal, 1 / n where one has all. */
export function jain(values: readonly number[]): number {
  const sum = values.reduce((all, each) => all + each, 0);
  const squares = values.reduce((all, each) => all + each * each, 0);
  return (sum * sum) / (values.length * squares);
}
