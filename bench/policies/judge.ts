import type { Scenario, ScenarioSize } from '../scenarios/scenario.ts';
import { contestOf, placedAtOnce, WAITING } from './contest.ts';
import { type Candidate, type SimulateAll, simulateCandidates } from './simulate-candidates.ts';
import { mean, type ScenarioKind, type Standing, served, standing } from './standings.ts';
import { rivalsOf, type TunedRow } from './tuned.ts';

export interface JudgeOptions {
  readonly seeds: number;
  readonly size: ScenarioSize;
  /** Whether the best untuned baseline is also simulated where its requests wait as ours do. */
  readonly waiting: boolean;
  readonly simulateAll: SimulateAll;
}

/** Compares our policy with the baselines of `row`, tuned for the scenario and untuned. */
export async function judge(
  scenario: Scenario,
  row: TunedRow,
  options: JudgeOptions,
): Promise<Standing> {
  const { name } = scenario;
  const { ours, baselines, figure } = contestOf(scenario);
  const { size, simulateAll } = options;
  const seeds = Array.from({ length: options.seeds }, (_, index) => index + 1);
  const draws = { scenario: name, seeds, size };
  const rivals = rivalsOf(row, baselines);
  const all = [candidate('default', ours), candidate('at once', placedAtOnce(ours)), ...rivals];
  const entries = await simulateCandidates(all, draws, simulateAll);
  const atOnce = entries.find(({ policy }) => policy === 'at once');
  if (atOnce === undefined) throw new Error(`no run without waiting for ${name}`);
  const compared = entries.filter((entry) => entry !== atOnce);
  const found = standing(name, compared, figure);
  const rival = rivals.find(
    ({ policy, variant }) => policy === found.bestUntuned.policy && variant === '',
  );
  const waiting = options.waiting
    ? [...WAITING].map(([order, withHold]) => candidate(order, withHold(rival?.config ?? '')))
    : [];
  const waited = await simulateCandidates(waiting, draws, simulateAll);
  return {
    ...found,
    kind: kindOf(scenario),
    atOnce: served(atOnce, figure),
    rivalWaitingMs: Object.fromEntries(waited.map((entry) => [entry.policy, mean(entry, figure)])),
  };
}

function kindOf({ disaggregated, isOtherEngine = false, isDrawn = false }: Scenario): ScenarioKind {
  if (disaggregated !== undefined) return 'disaggregated';
  if (isOtherEngine) return 'other-engine';
  return isDrawn ? 'drawn' : 'chosen';
}

function candidate(policy: string, config: string): Candidate {
  return { policy, variant: '', config };
}
