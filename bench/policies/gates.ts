import type { ScenarioKind, Standing } from './standings.ts';

/** Geometric means of our figure over the scenarios of one kind. */
export interface Overall {
  readonly kind: ScenarioKind;
  /** The untuned baseline that is best over all of them. */
  readonly bestSingle: string;
  readonly toBestSingle: number;
  /** To the baseline that is best in each scenario, tuned for it. */
  readonly toBestTuned: number;
}

/** For each kind of scenario that there is. */
export function overall(standings: readonly Standing[]): readonly Overall[] {
  return [...Map.groupBy(standings, ({ kind, figure }) => `${kind} ${figure}`).values()].map(
    overallOf,
  );
}

function overallOf(standings: readonly Standing[]): Overall {
  const [{ kind, untuned: names }] = standings as [Standing];
  const singles = Object.keys(names).map((name) => ({
    name,
    ratio: geometricMean(
      standings.map(({ ours, untuned }) => ours.mean / (untuned[name] ?? Number.NaN)),
    ),
  }));
  const best = singles.reduce((a, b) => (b.ratio > a.ratio ? b : a));
  const toBestTuned = geometricMean(standings.map(({ ratio }) => ratio.mean));
  return { kind, bestSingle: best.name, toBestSingle: best.ratio, toBestTuned };
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** Bounds of our figure over that of others: of geometric means, and in each scenario. */
interface RatioBounds {
  readonly toBestSingle: number;
  readonly toBestTuned: number;
  readonly each: number;
}

const BOUNDS: Readonly<Record<ScenarioKind, RatioBounds>> = {
  usual: { toBestSingle: 0.82, toBestTuned: 0.92, each: 1.01 },
  disaggregated: { toBestSingle: 1, toBestTuned: 1, each: 1 },
  'other-engine': { toBestSingle: 0.9, toBestTuned: 1, each: Number.POSITIVE_INFINITY },
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
  kind,
  bestSingle,
  toBestSingle,
  toBestTuned,
}: Overall): readonly string[] {
  const { toBestSingle: singleMax, toBestTuned: tunedMax } = BOUNDS[kind];
  return [
    ...above(`${kind}: the geometric mean to ${bestSingle}`, [toBestSingle, singleMax]),
    ...above(`${kind}: the geometric mean to the best tuned`, [toBestTuned, tunedMax]),
  ];
}

function missedIn(standing: Standing): readonly string[] {
  const { scenario, kind, ratio, p99Ms, goodput, tpotMs, atOnce } = standing;
  const lost = atOnce.goodput - goodput;
  return [
    ...above(`${scenario}: our mean to that of the best tuned`, [ratio.mean, BOUNDS[kind].each]),
    ...above(`${scenario}: p99 TTFT to that at once`, [p99Ms / atOnce.p99Ms, P99_RATIO_MAX]),
    ...above(`${scenario}: TPOT to that at once`, [tpotMs / atOnce.tpotMs, TPOT_RATIO_MAX]),
    ...above(`${scenario}: goodput lost by waiting`, [lost, GOODPUT_LOSS_MAX]),
  ];
}

function above(what: string, [value, max]: readonly [number, number]): readonly string[] {
  return value <= max ? [] : [`${what} is ${value.toFixed(4)}, at most ${max}`];
}
