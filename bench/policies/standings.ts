import { type Estimate, estimate } from '../../src/lab/run-summary/compare.ts';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';

/** Summaries of one policy on one scenario, one for each seed. */
export interface Entry {
  readonly policy: string;
  /** Empty for the policy as shipped. */
  readonly variant: string;
  readonly summaries: readonly SimulationSummary[];
}

/** The figure by which policies are ordered. */
export type Figure = 'ttftMeanMs' | 'e2eMeanMs';

/** The result of one scenario: our policy, the best tuned baseline, and the best untuned one. */
export interface Standing {
  readonly scenario: string;
  readonly figure: Figure;
  readonly ours: Estimate;
  readonly goodput: number;
  readonly tpotMs: number;
  readonly roundRobinTpotMs: number;
  readonly bestTuned: Placed;
  readonly bestUntuned: Placed;
  /** The figure of every baseline as shipped, by name. */
  readonly untuned: Readonly<Record<string, number>>;
  /** Our figure over that of the best tuned baseline, seed by seed. */
  readonly ratio: Estimate;
  /** The figure of the best untuned baseline where its requests wait as ours do. */
  readonly rivalWaitingMs?: number | undefined;
  /** Our figure where requests are placed at once. */
  readonly oursAtOnceMs?: number | undefined;
}

export interface Placed {
  readonly policy: string;
  readonly variant: string;
  /** The scenario's figure. */
  readonly ms: number;
  readonly goodput: number;
}

/** `entries` has our policy as `default`, and every baseline untuned and tuned on other seeds. */
export function standing(
  scenario: string,
  entries: readonly Entry[],
  figure: Figure = 'ttftMeanMs',
): Standing {
  const ours = entries.find(({ policy }) => policy === 'default');
  if (ours === undefined) throw new Error(`no entry of ours for ${scenario}`);
  const baselines = entries.filter((entry) => entry !== ours);
  const untuned = baselines.filter(({ variant }) => variant === '');
  const best = bestOf(baselines, figure);
  const roundRobin = baselines.find(({ policy }) => policy === 'round-robin');
  return {
    scenario,
    figure,
    ours: estimate(ours.summaries.map((summary) => summary[figure])),
    goodput: mean(ours, 'goodput'),
    tpotMs: mean(ours, 'tpotMeanMs'),
    roundRobinTpotMs: roundRobin === undefined ? Number.NaN : mean(roundRobin, 'tpotMeanMs'),
    bestTuned: placed(best, figure),
    bestUntuned: placed(bestOf(untuned, figure), figure),
    untuned: Object.fromEntries(untuned.map((entry) => [entry.policy, mean(entry, figure)])),
    ratio: estimate(
      ours.summaries.map(
        (summary, index) => summary[figure] / (best.summaries[index]?.[figure] ?? Number.NaN),
      ),
    ),
  };
}

/** The untuned baseline that is best over all scenarios, and our geometric mean against it. */
export function overall(standings: readonly Standing[]): {
  readonly bestSingle: string;
  readonly ratio: number;
} {
  const names = Object.keys(standings[0]?.untuned ?? {}).filter((name) =>
    standings.every(({ untuned }) => name in untuned),
  );
  const ratios = names.map((name) => {
    const logs = standings.map(({ ours, untuned }) =>
      Math.log(ours.mean / (untuned[name] ?? Number.NaN)),
    );
    return { name, ratio: Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length) };
  });
  const best = ratios.reduce((a, b) => (b.ratio > a.ratio ? b : a), { name: '', ratio: 0 });
  return { bestSingle: best.name, ratio: best.ratio };
}

/** Our geometric mean over that of the best single baseline untuned. */
const OVERALL_MAX = 0.82;
/** Our figure over that of the best tuned baseline, in each scenario. */
const RATIO_MAX = 1.01;

/** A sentence for each bound that is missed. */
export function missedBounds({
  standings,
  overall: { ratio, bestSingle },
}: {
  readonly standings: readonly Standing[];
  readonly overall: ReturnType<typeof overall>;
}): readonly string[] {
  return [
    ...(ratio > OVERALL_MAX
      ? [`over all scenarios: ${ratio.toFixed(3)} of ${bestSingle}, at most ${OVERALL_MAX}`]
      : []),
    ...standings
      .filter((each) => each.ratio.mean > RATIO_MAX)
      .map(
        (each) =>
          `${each.scenario}: ${each.ratio.mean.toFixed(3)} of the best tuned, at most ${RATIO_MAX}`,
      ),
  ];
}

export function mean({ summaries }: Entry, figure: keyof SimulationSummary): number {
  return summaries.reduce((sum, summary) => sum + summary[figure], 0) / summaries.length;
}

export function bestOf<E extends Entry>(entries: readonly E[], figure: Figure): E {
  return entries.reduce((a, b) => (mean(b, figure) < mean(a, figure) ? b : a));
}

function placed(entry: Entry, figure: Figure): Placed {
  return {
    policy: entry.policy,
    variant: entry.variant,
    ms: mean(entry, figure),
    goodput: mean(entry, 'goodput'),
  };
}
