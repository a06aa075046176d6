import type { PoolSpec } from '../../src/simulate/pool-spec.ts';
import type { Workload } from '../../src/simulate/workload.ts';

/** `small` runs in a second or two, for CI; `full` is what figures are quoted from. */
export type ScenarioSize = 'small' | 'full';

/** A workload and the pool it meets, drawn from a seed: equal seeds give equal scenarios. */
export interface Scenario {
  readonly name: string;
  /** One line for a table. */
  readonly about: string;
  readonly build: (seed: number, size: ScenarioSize) => ScenarioRun;
}

export interface ScenarioRun {
  readonly workload: Workload;
  readonly pool: PoolSpec;
}
