import { createPicker } from '../../src/index.ts';
import { mean } from '../../src/lab/run-summary/statistics.ts';
import { summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { DISAGGREGATED_POOLS, DISAGGREGATION_CONFIGS, longPrompts } from './disaggregation.ts';

export interface DisaggregationLoad {
  /** One of `DISAGGREGATED_POOLS`. */
  readonly pool: string;
  readonly perSecond: number;
  readonly promptTokens: number;
  readonly requests: number;
  readonly seeds: readonly number[];
}

/** Means over the seeds, in milliseconds. */
export interface DisaggregationFigures {
  readonly ttftMs: number;
  readonly e2eMs: number;
}

export interface DisaggregationComparison {
  /** By configuration. */
  readonly figures: Readonly<Record<string, DisaggregationFigures>>;
  /** The figures of the two deciders, each over the better of always and never. */
  readonly ttftRatio: number;
  readonly e2eRatio: number;
}

/** Simulates the same load with prompts computed locally, elsewhere, and as each decider says. */
export function compareDisaggregation(load: DisaggregationLoad): DisaggregationComparison {
  const figures = Object.fromEntries(
    Object.entries(DISAGGREGATION_CONFIGS).map(([name, config]) => [name, figuresOf(load, config)]),
  );
  const { local, split, firstToken, endToEnd } = figures;
  const over = (ours = Number.NaN, a = Number.NaN, b = Number.NaN): number => ours / Math.min(a, b);
  return {
    figures,
    ttftRatio: over(firstToken?.ttftMs, local?.ttftMs, split?.ttftMs),
    e2eRatio: over(endToEnd?.e2eMs, local?.e2eMs, split?.e2eMs),
  };
}

function figuresOf(load: DisaggregationLoad, config: string): DisaggregationFigures {
  const pool = DISAGGREGATED_POOLS.get(load.pool);
  if (pool === undefined) throw new Error(`there is no pool ${load.pool}`);
  const runs = load.seeds.map((seed) =>
    summarize(
      simulate({ workload: longPrompts(seed, load), pool: pool(), config, createPicker, seed }),
    ),
  );
  return {
    ttftMs: mean(runs.map(({ ttftMeanMs }) => ttftMeanMs)),
    e2eMs: mean(runs.map(({ e2eMeanMs }) => e2eMeanMs)),
  };
}
