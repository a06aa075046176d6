import type { ScenarioKind, Standing } from './standings.ts';

/** Scenarios over which a geometric mean is taken. */
export type Group = 'usual' | ScenarioKind;

/** Geometric means of our figure over the scenarios of one group. */
export interface Overall {
  readonly group: Group;
  readonly scenarios: number;
  /** The baseline that is best over all of them as shipped, of those simulated in each of them. */
  readonly bestSingle: string;
  readonly toBestSingle: number;
  /** To the baseline that is best in each scenario, tuned for it. */
  readonly toBestTuned: number;
}

/** For each group of scenarios that there is; chosen and drawn ones together are the usual ones. */
export function overall(standings: readonly Standing[]): readonly Overall[] {
  const usual = standings.filter(({ kind }) => kind === 'chosen' || kind === 'drawn');
  const groups = Map.groupBy(standings, ({ kind, figure }) => `${kind} ${figure}`);
  return [
    ...(usual.length > 0 ? [overallOf('usual', usual)] : []),
    ...[...groups.values()].map((group) => overallOf((group[0] as Standing).kind, group)),
  ];
}

function overallOf(group: Group, standings: readonly Standing[]): Overall {
  const [{ untuned: first }] = standings as [Standing];
  const names = Object.keys(first).filter((name) =>
    standings.every(({ untuned }) => name in untuned),
  );
  const singles = names.map((name) => ({
    name,
    ratio: geometricMean(
      standings.map(({ ours, untuned }) => ours.mean / (untuned[name] ?? Number.NaN)),
    ),
  }));
  const best = singles.reduce((a, b) => (b.ratio > a.ratio ? b : a), {
    name: 'none',
    ratio: Number.NEGATIVE_INFINITY,
  });
  const toBestTuned = geometricMean(standings.map(({ ratio }) => ratio.mean));
  const scenarios = standings.length;
  return { group, scenarios, bestSingle: best.name, toBestSingle: best.ratio, toBestTuned };
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** Bounds of geometric means of our figure over that of others. */
const OVERALL_MAX: Readonly<Record<Group, { readonly single: number; readonly tuned: number }>> = {
  usual: { single: 0.82, tuned: 0.92 },
  // Only together: each of the two is shown, too.
  chosen: { single: Number.POSITIVE_INFINITY, tuned: Number.POSITIVE_INFINITY },
  drawn: { single: Number.POSITIVE_INFINITY, tuned: Number.POSITIVE_INFINITY },
  disaggregated: { single: 1, tuned: 1 },
  'other-engine': { single: 0.9, tuned: 1 },
};
/** Bounds of our figure over that of the best tuned in each scenario. */
const EACH_MAX: Readonly<Record<ScenarioKind, number>> = {
  chosen: 1.01,
  drawn: 1.01,
  disaggregated: 1,
  'other-engine': Number.POSITIVE_INFINITY,
};
/** Bounds of what waiting may cost. */
const P99_RATIO_MAX = 1.02;
const TPOT_RATIO_MAX = 1.02;
const GOODPUT_LOSS_MAX = 0.002;

/** A sentence for each bound that is missed. */
export function missedBounds(standings: readonly Standing[]): readonly string[] {
  return [...overall(standings).flatMap(missedOverall), ...standings.flatMap(missedIn)];
}

function missedOverall({
  group,
  bestSingle,
  toBestSingle,
  toBestTuned,
}: Overall): readonly string[] {
  const { single, tuned } = OVERALL_MAX[group];
  return [
    ...above(`${group}: the geometric mean to ${bestSingle}`, [toBestSingle, single]),
    ...above(`${group}: the geometric mean to the best tuned`, [toBestTuned, tuned]),
  ];
}

function missedIn(standing: Standing): readonly string[] {
  const { scenario, kind, ratio, p99Ms, goodput, tpotMs, atOnce } = standing;
  const lost = atOnce.goodput - goodput;
  return [
    ...above(`${scenario}: our mean to that of the best tuned`, [ratio.mean, EACH_MAX[kind]]),
    ...above(`${scenario}: p99 TTFT to that at once`, [p99Ms / atOnce.p99Ms, P99_RATIO_MAX]),
    ...above(`${scenario}: TPOT to that at once`, [tpotMs / atOnce.tpotMs, TPOT_RATIO_MAX]),
    ...above(`${scenario}: goodput lost by waiting`, [lost, GOODPUT_LOSS_MAX]),
  ];
}

function above(what: string, [value, max]: readonly [number, number]): readonly string[] {
  return value <= max ? [] : [`${what} is ${value.toFixed(4)}, at most ${max}`];
}
