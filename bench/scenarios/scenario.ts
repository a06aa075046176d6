import type { Millis } from '../../src/framework/runtime.ts';
import type { PoolSpec } from '../../src/lab/simulate/pool-spec.ts';
import type { SimulationOptions } from '../../src/lab/simulate/simulate.ts';
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
  /** Set where pool, prompts and load are drawn at random. */
  readonly isDrawn?: boolean;
  /** Set where the engines go by other rules than the stub's. */
  readonly isOtherEngine?: boolean;
  readonly build: (seed: number, size: ScenarioSize) => ScenarioRun;
}

/** The objective of `cost-pd-decider`: the mean time of whole answers, or of first tokens. */
export type DisaggregatedObjective = 'end-to-end' | 'first-token';

export interface ScenarioRun {
  readonly workload: Workload;
  readonly pool: PoolSpec;
  /** See `simulate`. It is set where the engines are others than the stub's. */
  readonly createServer?: SimulationOptions['createServer'];
  /** Set where servers report something else than what is. */
  readonly createPicker?: SimulationOptions['createPicker'];
  readonly scrapeIntervalMs?: Millis;
  readonly replicas?: number;
}
