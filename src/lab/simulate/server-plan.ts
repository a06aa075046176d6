import { ConfigError } from '../../framework/error.ts';
import { type Estimate, estimate } from '../run-summary/compare.ts';
import type { ServiceObjective } from '../run-summary/service-objective.ts';
import type { PoolSpec } from './pool-spec.ts';
import type { JobResult } from './run-job.ts';
import type { LoadProbe } from './saturate.ts';
import { reshape } from './what-if.ts';

/** Price of an accelerator per hour, by the server's preset; the empty name is for all others. */
export type Prices = ReadonlyMap<string, number>;

/** One configuration on one shape of the pool. Costs are in the unit of the prices. */
export interface PlanRow {
  readonly config: string;
  /** Empty for the pool without changes. */
  readonly shape: string;
  readonly servers: number;
  readonly accelerators: number;
  readonly costPerHour: number;
  /** The load of the workload, like the three figures below. */
  readonly requestsPerSecond: number;
  readonly goodput: Estimate;
  readonly ttftP99Ms: Estimate;
  readonly meets: boolean;
  /** Whether chance may be why it meets or misses the objective; false for a single draw. */
  readonly mayBeChance: boolean;
  /** Draws of the workload. */
  readonly draws: number;
  /** The highest load that meets the objective, in requests per second; 0 if none does. */
  readonly limitPerSecond: Estimate;
  /** Whether the search ended before it reached the limit, so that the limit may be higher. */
  readonly limitIsHigher: boolean;
  /** At the limit, per million prompt and output tokens of requests that met the objective. */
  readonly costPerMillion: Estimate;
  /** At the limit, per million output tokens of requests that met the objective. */
  readonly costPerMillionOutput: Estimate;
}

export interface ServerPlan {
  readonly objective: ServiceObjective;
  readonly rows: readonly PlanRow[];
  /** Index in `rows` of the lowest cost per hour among those that meet the objective. */
  readonly cheapestForLoad: number | undefined;
  /**
   * Index in `rows` of the lowest mean cost per token at the limit. It is no more than that while
   * `asCheap` has other rows or there is one draw.
   */
  readonly cheapestPerToken: number | undefined;
  /** Other rows whose cost per token differs from the lowest by no more than chance. */
  readonly asCheap: readonly number[];
}

interface PlanInput {
  readonly pool: PoolSpec;
  readonly prices: Prices;
  readonly objective: ServiceObjective;
}

/** The load and the cost of each shape, in order of first appearance. Draws share a row. */
export function serverPlan(
  results: readonly JobResult[],
  { pool, prices, objective }: PlanInput,
): ServerPlan {
  const groups = Map.groupBy(results, ({ job }) => `${job.shape ?? ''}\n${job.name}`);
  const inputs = [...groups.values()].map((runs) => ({
    runs,
    input: { pool: reshape(pool, runs[0]?.job.shape), prices, objective },
  }));
  const rows = inputs.map(({ runs, input }) => rowOf(runs, input));
  const costs = inputs.map(({ runs, input }) => costsPerMillion(runs, input));
  const forLoad = rows.map((row) => (row.meets ? row.costPerHour : Number.NaN));
  const cheapestPerToken = indexOfLeast(rows.map(({ costPerMillion }) => costPerMillion.mean));
  return {
    objective,
    rows,
    cheapestForLoad: indexOfLeast(forLoad),
    cheapestPerToken,
    asCheap: cheapestPerToken === undefined ? [] : withinNoise(costs, cheapestPerToken),
  };
}

/** The other rows whose costs, paired by draw, may be as low as those of the row `least`. */
function withinNoise(costs: readonly (readonly number[])[], least: number): readonly number[] {
  const lowest = costs[least] ?? [];
  return costs.flatMap((each, place) => {
    if (place === least) return [];
    const dearer = estimate(each.map((cost, draw) => cost - (lowest[draw] ?? Number.NaN)));
    // One draw has no interval, and the comparison is false.
    return dearer.mean <= dearer.plusMinus ? [place] : [];
  });
}

/** The cost of a pool per hour. Throws ConfigError if a server has no price. */
export function costPerHour({ servers }: PoolSpec, prices: Prices): number {
  return servers.reduce((sum, { preset = '', accelerators = 1 }) => {
    const price = prices.get(preset) ?? prices.get('');
    if (price === undefined) {
      const message = `there is no price for ${preset}; give --price ${preset}=… or --price … for all`;
      throw new ConfigError('--price', [{ path: preset, message }]);
    }
    return sum + price * accelerators;
  }, 0);
}

function limitsOf(runs: readonly JobResult[]): readonly (LoadProbe | undefined)[] {
  return runs.map(({ saturation }) =>
    saturation === undefined || saturation.outcome === 'below' ? undefined : saturation.best,
  );
}

/** The costs of each draw, in the order of the seeds. */
function costsPerMillion(
  runs: readonly JobResult[],
  { pool, prices }: PlanInput,
): readonly number[] {
  const perHour = costPerHour(pool, prices);
  const inOrder = runs.toSorted((a, b) => a.job.seed - b.job.seed);
  return limitsOf(inOrder).map((limit) => perMillion(perHour, limit?.goodTokensPerSecond));
}

function perMillion(perHour: number, tokensPerSecond = 0): number {
  return (perHour * 1e6) / (3600 * tokensPerSecond);
}

function rowOf(runs: readonly JobResult[], input: PlanInput): PlanRow {
  const { pool, prices, objective } = input;
  const [first] = runs;
  const perHour = costPerHour(pool, prices);
  const limits = limitsOf(runs);
  const goodput = estimate(runs.map(({ summary }) => summary.goodput));
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
    mayBeChance: Math.abs(goodput.mean - objective.share) < goodput.plusMinus,
    draws: runs.length,
    limitPerSecond: estimate(limits.map((limit) => limit?.requestsPerSecond ?? 0)),
    limitIsHigher: runs.some(({ saturation }) => saturation?.outcome === 'above'),
    costPerMillion: estimate(costsPerMillion(runs, input)),
    costPerMillionOutput: estimate(
      limits.map((limit) => perMillion(perHour, limit?.goodOutputTokensPerSecond)),
    ),
  };
}

/** Ignores values that are not finite. */
function indexOfLeast(values: readonly number[]): number | undefined {
  const finite = values.filter((value) => Number.isFinite(value));
  return finite.length === 0 ? undefined : values.indexOf(Math.min(...finite));
}
