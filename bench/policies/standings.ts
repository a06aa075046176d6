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

/**
 * On servers of the stub's engine, chosen or drawn at random; with some that only compute prompts;
 * on engines by other rules.
 */
export type ScenarioKind = 'chosen' | 'drawn' | 'disaggregated' | 'other-engine';

/** The result of one scenario: our policy, the best tuned baseline, and the best untuned one. */
export interface Standing {
  readonly scenario: string;
  readonly figure: Figure;
  readonly kind: ScenarioKind;
  readonly ours: Estimate;
  readonly p99Ms: number;
  readonly goodput: number;
  readonly tpotMs: number;
  readonly bestTuned: Placed;
  readonly bestUntuned: Placed;
  /** The figure of the baselines that were simulated as shipped, by name. */
  readonly untuned: Readonly<Record<string, number>>;
  /** Our figure over that of the best tuned baseline, seed by seed. */
  readonly ratio: Estimate;
  /** Our policy where requests are placed at once. */
  readonly atOnce: Served;
  /** The best untuned baseline where its requests wait as ours do, by name of their order. */
  readonly rivalWaitingMs: Readonly<Record<string, number>>;
}

/** What the clients of one policy get: means over the draws. */
export interface Served {
  /** The scenario's figure. */
  readonly ms: number;
  /** 99th percentile of the time to the first token. */
  readonly p99Ms: number;
  readonly goodput: number;
  readonly tpotMs: number;
}

export interface Placed {
  readonly policy: string;
  readonly variant: string;
  /** The scenario's figure. */
  readonly ms: number;
  readonly goodput: number;
}

/** `entries` has our policy as `default`, and baselines untuned and tuned on other seeds. */
export function standing(
  scenario: string,
  entries: readonly Entry[],
  figure: Figure = 'ttftMeanMs',
): Omit<Standing, 'kind' | 'atOnce' | 'rivalWaitingMs'> {
  const ours = entries.find(({ policy }) => policy === 'default');
  if (ours === undefined) throw new Error(`no entry of ours for ${scenario}`);
  const baselines = entries.filter((entry) => entry !== ours);
  const untuned = baselines.filter(({ variant }) => variant === '');
  const best = bestOf(baselines, figure);
  return {
    scenario,
    figure,
    ours: estimate(ours.summaries.map((summary) => summary[figure])),
    p99Ms: mean(ours, 'ttftP99Ms'),
    goodput: mean(ours, 'goodput'),
    tpotMs: mean(ours, 'tpotMeanMs'),
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

/** What the clients of a policy get. */
export function served(entry: Entry, figure: Figure): Served {
  return {
    ms: mean(entry, figure),
    p99Ms: mean(entry, 'ttftP99Ms'),
    goodput: mean(entry, 'goodput'),
    tpotMs: mean(entry, 'tpotMeanMs'),
  };
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
