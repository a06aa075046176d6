import type { Scenario } from '../scenarios/scenario.ts';
import type { Baseline } from './baselines.ts';
import { contestOf } from './contest.ts';
import { type Candidate, type SimulateAll, simulateCandidates } from './simulate-candidates.ts';
import { type Entry, type Figure, mean } from './standings.ts';
import type { Setting, TunedRow } from './tuned.ts';

/** Seeds for tuning, far from those of the comparison. */
const TUNING_SEEDS: readonly number[] = [1000, 1001];
/** So many settings of all policies together go from the small draws to a full one. */
const SECOND_ROUND = 8;
/** So many settings are compared with ours. */
const FINALISTS = 3;
/**
 * So many policies as shipped are compared with ours, the best single one of former runs beside.
 */
const SHIPPED = 1;
const BEST_SINGLE = 'sticky';

/**
 * Finds the settings of all baselines that are best for a scenario: every setting of every baseline
 * on two small draws, the best eight of them on a full draw, and the best three of these are kept.
 */
export async function tune(
  scenario: Scenario,
  { simulateAll, date }: { readonly simulateAll: SimulateAll; readonly date: string },
): Promise<TunedRow> {
  const { baselines, figure } = contestOf(scenario);
  const { name } = scenario;
  const small = { scenario: name, seeds: TUNING_SEEDS, size: 'small' } as const;
  const first = await simulateCandidates(allSettings(baselines), small, simulateAll);
  const ranked = best(first, figure);
  const full = { scenario: name, seeds: TUNING_SEEDS.slice(0, 1), size: 'full' } as const;
  const second = await simulateCandidates(ranked.slice(0, SECOND_ROUND), full, simulateAll);
  const shipped = ranked.filter(({ variant }) => variant === '').slice(0, SHIPPED);
  return {
    scenario: name,
    found: date,
    by: 'race',
    finalists: best(second, figure).slice(0, FINALISTS).map(settingOf),
    shipped: [...new Set([BEST_SINGLE, ...shipped.map(({ policy }) => policy)])],
  };
}

/** Every setting of every baseline, as shipped first. */
function allSettings(baselines: readonly Baseline[]): readonly Candidate[] {
  return baselines.flatMap(({ name, variants }) =>
    [...variants].map(([variant, config]) => ({ policy: name, variant, config })),
  );
}

function best<E extends Entry>(entries: readonly E[], figure: Figure): readonly E[] {
  return entries.toSorted((a, b) => mean(a, figure) - mean(b, figure));
}

function settingOf({ policy, variant }: Candidate): Setting {
  return { policy, variant };
}
