import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import type { Scenario, ScenarioSize } from '../scenarios/scenario.ts';
import type { Baseline } from './baselines.ts';
import { type Contest, contestOf, placedAtOnce, WAITING } from './contest.ts';
import {
  bestOf,
  type Entry,
  mean,
  type ScenarioKind,
  type Standing,
  served,
  standing,
} from './standings.ts';
import type { PolicyJob } from './worker.ts';

export interface JudgeOptions {
  readonly seeds: number;
  /** Draws on which the baselines are tuned: others than those of the comparison. */
  readonly tuningSeeds: number;
  readonly size: ScenarioSize;
  /** In the order of the jobs. */
  readonly simulateAll: (jobs: readonly PolicyJob[]) => Promise<readonly SimulationSummary[]>;
}

interface Candidate {
  readonly policy: string;
  readonly variant: string;
  readonly config: string;
}

/** Seeds for tuning start here, far from those of the comparison. */
const TUNING_SEED = 1000;

/** Compares our policy with every baseline, tuned for the scenario and untuned. */
export async function judge(scenario: Scenario, options: JudgeOptions): Promise<Standing> {
  const { name } = scenario;
  const { ours, baselines, figure } = contestOf(scenario);
  const shipped = baselines.map(({ name: policy, variants }) =>
    candidate(policy, variants.get('')),
  );
  const all = [
    candidate('default', ours),
    ...shipped,
    ...(await tune(name, { baselines, figure }, options)),
  ];
  const found = standing(name, await drawn(name, all, options), figure);
  const rival = shipped.find(({ policy }) => policy === found.bestUntuned.policy);
  const config = rival?.config ?? 'default';
  const more = [
    candidate('at once', placedAtOnce(ours)),
    ...[...WAITING].map(([order, waiting]) => candidate(order, waiting(config))),
  ];
  const [atOnce, ...waiting] = await drawn(name, more, options);
  if (atOnce === undefined) throw new Error(`no run without waiting for ${name}`);
  return {
    ...found,
    kind: kindOf(scenario),
    atOnce: served(atOnce, figure),
    rivalWaitingMs: Object.fromEntries(waiting.map((entry) => [entry.policy, mean(entry, figure)])),
  };
}

function kindOf({ disaggregated, isOtherEngine = false }: Scenario): ScenarioKind {
  if (disaggregated !== undefined) return 'disaggregated';
  return isOtherEngine ? 'other-engine' : 'usual';
}

function candidate(policy: string, config = policy): Candidate {
  return { policy, variant: '', config };
}

/** Each candidate on the draws of the comparison. */
function drawn<C extends Candidate>(
  scenario: string,
  candidates: readonly C[],
  options: JudgeOptions,
): Promise<readonly (C & Entry)[]> {
  const seeds = Array.from({ length: options.seeds }, (_, index) => index + 1);
  return simulated(scenario, { candidates, seeds }, options);
}

/** The best variant of each baseline that has variants, on tuning seeds. */
async function tune(
  scenario: string,
  { baselines, figure }: Pick<Contest, 'baselines' | 'figure'>,
  options: JudgeOptions,
): Promise<readonly Candidate[]> {
  const seeds = Array.from({ length: options.tuningSeeds }, (_, index) => TUNING_SEED + index);
  const candidates = baselines
    .filter(({ variants }) => variants.size > 1)
    .flatMap(({ name, variants }: Baseline) =>
      [...variants].map(([variant, config]) => ({ policy: name, variant, config })),
    );
  const entries = await simulated(scenario, { candidates, seeds }, options);
  return [...Map.groupBy(entries, ({ policy }) => policy).values()]
    .map((group) => bestOf(group, figure))
    .filter(({ variant }) => variant !== '');
}

async function simulated<C extends Candidate>(
  scenario: string,
  { candidates, seeds }: { readonly candidates: readonly C[]; readonly seeds: readonly number[] },
  { size, simulateAll }: JudgeOptions,
): Promise<readonly (C & Entry)[]> {
  const jobs = candidates.flatMap(({ config }) =>
    seeds.map((seed): PolicyJob => ({ scenario, config, seed, size })),
  );
  const summaries = await simulateAll(jobs);
  return candidates.map((each, index) => ({
    ...each,
    summaries: summaries.slice(index * seeds.length, (index + 1) * seeds.length),
  }));
}
