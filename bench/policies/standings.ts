import { type Estimate, estimate } from '../../src/simulate/compare.ts';
import type { SimulationSummary } from '../../src/simulate/summarize.ts';

/** Summaries of one policy on one scenario, one a seed. */
export interface Entry {
  readonly policy: string;
  /** Empty for the policy as it is shipped. */
  readonly variant: string;
  readonly summaries: readonly SimulationSummary[];
}

/** One scenario: ours beside the best that tuning can do for each rival, and the best of those nobody tuned. */
export interface Standing {
  readonly scenario: string;
  readonly ours: Estimate;
  readonly goodput: number;
  readonly tpotMs: number;
  readonly roundRobinTpotMs: number;
  readonly bestTuned: Placed;
  readonly bestUntuned: Placed;
  /** Every rival as shipped, by name. */
  readonly untuned: Readonly<Record<string, number>>;
  /** Our mean TTFT over the best tuned rival's, seed by seed. */
  readonly ratio: Estimate;
}

export interface Placed {
  readonly policy: string;
  readonly variant: string;
  readonly ttftMs: number;
  readonly goodput: number;
}

/** `entries` holds ours under `default`, and every rival untuned and tuned on other seeds. */
export function standing(scenario: string, entries: readonly Entry[]): Standing {
  const ours = entries.find(({ policy }) => policy === 'default');
  if (ours === undefined) throw new Error(`no entry of ours for ${scenario}`);
  const rivals = entries.filter((entry) => entry !== ours);
  const untuned = rivals.filter(({ variant }) => variant === '');
  const best = bestOf(rivals);
  const roundRobin = rivals.find(({ policy }) => policy === 'round-robin');
  return {
    scenario,
    ours: estimate(ours.summaries.map(({ ttftMeanMs }) => ttftMeanMs)),
    goodput: mean(ours, 'goodput'),
    tpotMs: mean(ours, 'tpotMeanMs'),
    roundRobinTpotMs: roundRobin === undefined ? Number.NaN : mean(roundRobin, 'tpotMeanMs'),
    bestTuned: placed(best),
    bestUntuned: placed(bestOf(untuned)),
    untuned: Object.fromEntries(untuned.map((entry) => [entry.policy, mean(entry, 'ttftMeanMs')])),
    ratio: estimate(
      ours.summaries.map(
        ({ ttftMeanMs }, index) => ttftMeanMs / (best.summaries[index]?.ttftMeanMs ?? Number.NaN),
      ),
    ),
  };
}

/** The rival that is best over all scenarios untuned, and our geometric mean against it. */
export function overall(standings: readonly Standing[]): {
  readonly bestSingle: string;
  readonly ratio: number;
} {
  const names = Object.keys(standings[0]?.untuned ?? {});
  const ratios = names.map((name) => {
    const logs = standings.map(({ ours, untuned }) =>
      Math.log(ours.mean / (untuned[name] ?? Number.NaN)),
    );
    return { name, ratio: Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length) };
  });
  const best = ratios.reduce((a, b) => (b.ratio > a.ratio ? b : a), { name: '', ratio: 0 });
  return { bestSingle: best.name, ratio: best.ratio };
}

export function mean({ summaries }: Entry, figure: keyof SimulationSummary): number {
  return summaries.reduce((sum, summary) => sum + summary[figure], 0) / summaries.length;
}

function bestOf(entries: readonly Entry[]): Entry {
  return entries.reduce((a, b) => (mean(b, 'ttftMeanMs') < mean(a, 'ttftMeanMs') ? b : a));
}

function placed(entry: Entry): Placed {
  return {
    policy: entry.policy,
    variant: entry.variant,
    ttftMs: mean(entry, 'ttftMeanMs'),
    goodput: mean(entry, 'goodput'),
  };
}
