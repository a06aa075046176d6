import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import type { Workload } from '../../src/lab/traces/workload.ts';

/** `small` runs in a second or two, for CI; `full` is what figures are quoted from. */
export type ScenarioSize = 'small' | 'full';

/** A workload and the pool it meets, drawn from a seed: equal seeds give equal scenarios. */
export interface Scenario {
  readonly name: string;
  /** One line for a table. */
  readonly about: string;
  /** Some servers only compute prompts: for policies that pick one of those, too; and what these are judged by. */
  readonly disaggregated?: DisaggregatedObjective;
  readonly build: (seed: number, size: ScenarioSize) => ScenarioRun;
}

/** As `cost-pd-decider` has it: the mean of the whole answer's time, or of that to a first token. */
export type DisaggregatedObjective = 'end-to-end' | 'first-token';

export interface ScenarioRun {
  readonly workload: Workload;
  readonly pool: PoolSpec;
}
