import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';

/** `small` runs in a second or two, for CI; `full` is what figures are quoted from. */
export type ScenarioSize = 'small' | 'full';

/** A workload and a pool, drawn from a seed: equal seeds give equal scenarios. */
export interface Scenario {
  readonly name: string;
  /** One line for a table. */
  readonly about: string;
  /** Set where some servers only compute prompts: the objective by which policies are judged. */
  readonly disaggregated?: DisaggregatedObjective;
  readonly build: (seed: number, size: ScenarioSize) => ScenarioRun;
}

/** As in `cost-pd-decider`: the mean time of whole answers, or of first tokens. */
export type DisaggregatedObjective = 'end-to-end' | 'first-token';

export interface ScenarioRun {
  readonly workload: Workload;
  readonly pool: PoolSpec;
}
