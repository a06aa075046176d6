import {
  CAPACITY_LIMITS,
  type Capacity,
  type LatencyObjective,
  type RequestMix,
} from '../../cost-model/capacity.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { HeadroomStage, Rates, StageHeadroom } from './headroom-report.ts';

export interface StageState {
  readonly stage: HeadroomStage;
  readonly endpoints: number;
  readonly replicas: number;
  /** The replicas whose endpoints answer: the capacities are theirs. */
  readonly answering: number;
  readonly saturation: number;
  /** Undefined before the first request. */
  readonly mix: RequestMix | undefined;
  /** One for each endpoint that answers; undefined before the first request. */
  readonly capacities: readonly (Capacity | undefined)[];
  /** Requests per second, and by how much they grow in a second. */
  readonly demand: { readonly rate: number; readonly slope: number };
  readonly waiting: number;
  /** Whether demand has been watched for long enough to have fewer replicas by it. */
  readonly isWarm: boolean;
  readonly objective: LatencyObjective;
  readonly target: number;
  /** How far ahead demand is foreseen. */
  readonly leadS: number;
}

/** The headroom of a stage from what is known of it. */
export function stageHeadroom(state: StageState): StageHeadroom {
  const { stage, endpoints, replicas, saturation, mix, capacities, demand } = state;
  const known = capacities.filter((each) => each !== undefined);
  const perSecond = known.reduce((sum, { requestsPerMs }) => sum + 1000 * requestsPerMs, 0);
  const isKnown = mix !== undefined && perSecond > 0;
  const tokens = mix === undefined ? 0 : mix.promptTokens + mix.outputTokens;
  const rates = isKnown ? ratesOf(demand.rate, perSecond) : undefined;
  const needed = neededReplicas(state, perSecond);
  return {
    stage,
    endpoints,
    replicas,
    requestsPerSecond: rates,
    tokensPerSecond: rates && ratesOf(tokens * demand.rate, tokens * perSecond),
    utilization: isKnown ? demand.rate / perSecond : 0,
    saturation: Number.isFinite(saturation) ? saturation : 1,
    secondsToSaturation: isKnown ? secondsToSaturation(state, perSecond) : undefined,
    desiredReplicas: desiredReplicas(state, needed),
    neededReplicas: needed,
    limit: CAPACITY_LIMITS.find((limit) => known.some((each) => each.limit === limit)),
  };
}

function ratesOf(used: number, capacity: number): Rates {
  return { used, capacity, left: Math.max(0, capacity - used) };
}

/** At a rate above the capacity, until what waits takes longer than the objective allows. */
function secondsToSaturation(
  { saturation, demand: { rate, slope }, waiting, objective }: StageState,
  capacity: number,
): number | undefined {
  if (saturation > 1) return 0;
  if (rate > capacity) {
    const mayWait = (capacity * objective.ttftMs) / 1000;
    return Math.max(0, mayWait - waiting) / (rate - capacity);
  }
  return slope > 0 ? (capacity - rate) / slope : undefined;
}

/**
 * For the demand that is foreseen at the target, and with what waits at the full capacity: the room
 * that the target leaves works it off, too. Undefined while the capacity of a replica is not known.
 */
function neededReplicas(state: StageState, capacity: number): number | undefined {
  const { endpoints, answering, demand, waiting, target, leadS } = state;
  if (endpoints === 0) return waiting > 0 || demand.rate > 0 ? 1 : 0;
  if (capacity === 0) return undefined;
  const foreseen = demand.rate + demand.slope * leadS;
  const needed = Math.max(0, foreseen / target, foreseen + waiting / leadS);
  return needed / (capacity / answering);
}

/** As many as there are while little is known. */
function desiredReplicas({ replicas, isWarm }: StageState, needed: number | undefined): number {
  if (needed === undefined) return replicas;
  // An unsteady last digit must not ask for one replica more.
  const wanted = Math.max(0, Math.ceil(needed - 1e-9));
  return isWarm ? wanted : Math.max(replicas, wanted);
}

/** The ranks of a pod are one replica; of a group of pods only the leader's ports are endpoints. */
export function replicasOf(endpoints: readonly Endpoint[]): number {
  return new Set(endpoints.map(({ id }) => id.replace(/-rank-\d+$/, ''))).size;
}
