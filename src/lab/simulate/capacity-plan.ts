import { ConfigError } from '../../framework/error.ts';
import { type Estimate, estimate } from '../run-summary/compare.ts';
import type { ServiceObjective } from '../run-summary/service-objective.ts';
import type { PoolSpec } from './pool-spec.ts';
import type { JobResult } from './run-job.ts';
import { reshape } from './what-if.ts';

/** What an accelerator costs for an hour, by the preset of its server; under the empty name, any other. */
export type Prices = ReadonlyMap<string, number>;

/** One configuration on one shape of the pool. Money in the unit of the prices. */
export interface PlanRow {
  readonly config: string;
  /** Empty for the pool as it is. */
  readonly shape: string;
  readonly servers: number;
  readonly accelerators: number;
  readonly costPerHour: number;
  /** Under the load that was asked about. */
  readonly requestsPerSecond: number;
  readonly goodput: Estimate;
  readonly ttftP99Ms: Estimate;
  readonly meets: boolean;
  /** The highest load that still meets the objective; 0 where none does. */
  readonly limitPerSecond: Estimate;
  /** Whether the search ended before the limit came: it is at least that high. */
  readonly limitIsHigher: boolean;
  /** At the limit, for a million tokens of requests that met the objective: prompts with answers, and answers alone. */
  readonly costPerMillion: Estimate;
  readonly costPerMillionOutput: Estimate;
}

export interface CapacityPlan {
  readonly objective: ServiceObjective;
  readonly rows: readonly PlanRow[];
  /** Places in `rows`: least to pay by the hour of those that carry the load; and least for a token at the limit. */
  readonly cheapestForLoad: number | undefined;
  readonly cheapestPerToken: number | undefined;
}

/** What each shape carries and costs. Rows in order of first appearance; draws of one job become one row. */
export function capacityPlan(
  results: readonly JobResult[],
  {
    pool,
    prices,
    objective,
  }: {
    readonly pool: PoolSpec;
    readonly prices: Prices;
    readonly objective: ServiceObjective;
  },
): CapacityPlan {
  const groups = Map.groupBy(results, ({ job }) => `${job.shape ?? ''}\n${job.name}`);
  const rows = [...groups.values()].map((runs) =>
    rowOf(runs, { pool: shapedPool(pool, runs[0]?.job.shape), prices, objective }),
  );
  const carries = ({ meets }: PlanRow): boolean => meets;
  return {
    objective,
    rows,
    cheapestForLoad: least(rows, ({ costPerHour }) => costPerHour, carries),
    cheapestPerToken: least(
      rows,
      ({ costPerMillion }) => costPerMillion.mean,
      ({ costPerMillion }) => Number.isFinite(costPerMillion.mean),
    ),
  };
}

/** What a pool costs by the hour. Throws ConfigError where a server has no price. */
export function costPerHour({ servers }: PoolSpec, prices: Prices): number {
  return servers.reduce((sum, { preset = '', accelerators = 1 }) => {
    const price = prices.get(preset) ?? prices.get('');
    if (price === undefined) {
      const message = `none for ${preset}; give --price ${preset}=… or --price … for all`;
      throw new ConfigError('--price', [{ path: preset, message }]);
    }
    return sum + price * accelerators;
  }, 0);
}

function rowOf(
  runs: readonly JobResult[],
  {
    pool,
    prices,
    objective,
  }: {
    readonly pool: PoolSpec;
    readonly prices: Prices;
    readonly objective: ServiceObjective;
  },
): PlanRow {
  const [first] = runs;
  const perHour = costPerHour(pool, prices);
  const limits = runs.map(({ saturation }) =>
    saturation === undefined || saturation.outcome === 'below' ? undefined : saturation.best,
  );
  const goodput = estimate(runs.map(({ summary }) => summary.goodput));
  const costs = (perSecond: readonly (number | undefined)[]): Estimate =>
    estimate(perSecond.map((tokens = 0) => (perHour * 1e6) / (3600 * tokens)));
  return {
    config: first?.job.name ?? '',
    shape: first?.job.shape ?? '',
    servers: pool.servers.length,
    accelerators: pool.servers.reduce((sum, { accelerators = 1 }) => sum + accelerators, 0),
    costPerHour: perHour,
    requestsPerSecond: estimate(runs.map(({ throughput }) => throughput.requestsPerSecond)).mean,
    goodput,
    ttftP99Ms: estimate(runs.map(({ summary }) => summary.ttftP99Ms)),
    meets: goodput.mean >= objective.share,
    limitPerSecond: estimate(limits.map((limit) => limit?.requestsPerSecond ?? 0)),
    limitIsHigher: runs.some(({ saturation }) => saturation?.outcome === 'above'),
    costPerMillion: costs(limits.map((limit) => limit?.goodTokensPerSecond)),
    costPerMillionOutput: costs(limits.map((limit) => limit?.goodOutputTokensPerSecond)),
  };
}

function shapedPool(pool: PoolSpec, shape: string | undefined): PoolSpec {
  return shape === undefined ? pool : reshape(pool, shape);
}

function least(
  rows: readonly PlanRow[],
  of: (row: PlanRow) => number,
  counts: (row: PlanRow) => boolean,
): number | undefined {
  let best: number | undefined;
  rows.forEach((row, place) => {
    const before = best === undefined ? undefined : rows[best];
    if (counts(row) && (before === undefined || of(row) < of(before))) best = place;
  });
  return best;
}
