import {
  CAPACITY_LIMITS,
  type Capacity,
  type LatencyObjective,
  type RequestMix,
} from '../../cost-model/capacity.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Arriving } from './counted-arrivals.ts';
import type { HeadroomStage, Limit, Rates, StageHeadroom } from './headroom-report.ts';

export interface StageState {
  readonly stage: HeadroomStage;
  readonly endpoints: number;
  readonly replicas: number;
  /** The replicas whose endpoints answer: the capacities are theirs. */
  readonly answering: number;
  readonly saturation: number;
  /** Whether its endpoints serve nothing, whatever they could: requests fail at all of them. */
  readonly isFailing: boolean;
  /** Whether flow control has let nothing through while requests waited, for longer than by chance. */
  readonly isHeldBack: boolean;
  /** The replicas that were needed before its endpoints failed. */
  readonly neededBefore: number | undefined;
  /** Whether it has been above 1 for longer than by chance. */
  readonly isSaturated: boolean;
  /** What the servers have shown over the modelled capacity, above 0. */
  readonly shownShare: number;
  /** Undefined before the first request. */
  readonly mix: RequestMix | undefined;
  /** One for each endpoint that answers; undefined before the first request. */
  readonly capacities: readonly (Capacity | undefined)[];
  /** Per second, of so many times as many endpoints of the same kinds. */
  readonly capacityWith: (times: number) => number;
  /** What comes to the pool, here and at the pickers that share with this one. */
  readonly demand: Arriving;
  /** What comes to this picker. */
  readonly ownDemand: Arriving;
  /** Whether demand has been watched for long enough to have fewer replicas by it. */
  readonly isWarm: boolean;
  readonly objective: LatencyObjective;
  readonly target: number;
  /** How far ahead demand is foreseen. */
  readonly leadS: number;
}

/** Servers that show as much of the modelled capacity are as the model has them. */
const MODEL_HOLDS = 0.9;
/** More are never asked for: a power of 2. */
const REPLICAS_MAX = 65_536;

/** The headroom of a stage from what is known of it. */
export function stageHeadroom(state: StageState): StageHeadroom {
  const { stage, endpoints, replicas, mix, demand, isFailing } = state;
  const perSecond = capacityPerSecond(state);
  const isKnown = mix !== undefined && perSecond > 0;
  const tokens = mix === undefined ? 0 : mix.promptTokens + mix.outputTokens;
  const rates = isKnown && !isFailing ? ratesOf(demand.rate, perSecond) : undefined;
  return {
    stage,
    endpoints,
    replicas,
    requestsPerSecond: rates,
    tokensPerSecond: rates && ratesOf(tokens * demand.rate, tokens * perSecond),
    utilization: isFailing ? undefined : isKnown ? demand.rate / perSecond : 0,
    saturation: saturationOf(state, perSecond),
    secondsToSaturation: isKnown ? secondsToSaturation(state, perSecond) : undefined,
    desiredReplicas: desiredReplicas(state, perSecond),
    neededReplicas: neededReplicas(state, perSecond),
    limit: limitOf(state),
  };
}

/**
 * What the endpoints can serve. While flow control holds requests back, that is no more than what
 * comes, whatever the model of the engines says: there is a bound that the model does not know.
 */
function capacityPerSecond({ capacities, shownShare, isHeldBack, demand }: StageState): number {
  const modelled = capacities.reduce((sum, each) => sum + 1000 * (each?.requestsPerMs ?? 0), 0);
  const shown = shownShare * modelled;
  return isHeldBack && demand.rate > 0 ? Math.min(shown, demand.rate) : shown;
}

/** At least 1 where one more request fails, or waits for another one to end. */
function saturationOf(state: StageState, perSecond: number): number {
  const { saturation, isFailing, isHeldBack } = state;
  const least = Number.isFinite(saturation) && !isFailing && !isHeldBack ? 0 : 1;
  return Math.max(
    least,
    Number.isFinite(saturation) ? saturation : 0,
    waitingShare(state, perSecond),
  );
}

function limitOf({ isFailing, isHeldBack, shownShare, capacities }: StageState): Limit | undefined {
  if (isFailing) return 'failing';
  if (isHeldBack) return 'flow-control';
  if (shownShare < MODEL_HOLDS) return 'shown';
  return CAPACITY_LIMITS.find((limit) => capacities.some((each) => each?.limit === limit));
}

function ratesOf(used: number, capacity: number): Rates {
  return { used, capacity, left: Math.max(0, capacity - used) };
}

/** The time that what waits takes over the objective of the first token. */
export function waitingShare(
  {
    demand: { waiting },
    objective,
  }: { readonly demand: Pick<Arriving, 'waiting'>; readonly objective: LatencyObjective },
  perSecond: number,
): number {
  return perSecond > 0 ? (1000 * waiting) / perSecond / objective.ttftMs : 0;
}

/**
 * How many seconds there are until what waits takes longer than the objective allows, at a rate
 * above the capacity or one that will be.
 */
function secondsToSaturation(
  { isSaturated, isFailing, demand: { rate, slope, waiting }, objective }: StageState,
  capacityPerSecond: number,
): number | undefined {
  if (isSaturated || isFailing) return 0;
  if (rate > capacityPerSecond) {
    const mayWait = (capacityPerSecond * objective.ttftMs) / 1000;
    return Math.max(0, mayWait - waiting) / (rate - capacityPerSecond);
  }
  return slope > 0 ? (capacityPerSecond - rate) / slope : undefined;
}

/**
 * The requests per second for which replicas are wanted: the demand that is foreseen at the target,
 * or that demand and what waits at the full capacity. The room that the target leaves works off what
 * waits, too.
 */
function wantedPerSecond(
  { rate, slope, waiting }: Arriving,
  { target, leadS }: StageState,
): number {
  const foreseen = rate + slope * leadS;
  return Math.max(0, foreseen / target, foreseen + waiting / leadS);
}

/** The first replica is wanted as soon as a request comes. */
function wantedOfNone({ waiting, rate }: Arriving): number {
  return waiting > 0 || rate > 0 ? 1 : 0;
}

/**
 * In proportion to what a replica serves now, so that the parts of several pickers add up. Undefined
 * while the capacity of a replica is not known. While requests fail at all of them, it stays as it
 * was: clients that try again, or go, are no other demand.
 */
function neededReplicas(state: StageState, capacityPerSecond: number): number | undefined {
  const { endpoints, ownDemand, answering } = state;
  if (endpoints === 0) return wantedOfNone(ownDemand);
  if (state.isFailing) return state.neededBefore;
  if (capacityPerSecond === 0) return undefined;
  return wantedPerSecond(ownDemand, state) / (capacityPerSecond / answering);
}

/**
 * As many as there are while little is known or requests fail at all of them, because more of them
 * would serve no more, and at least as many while they are saturated.
 */
function desiredReplicas(state: StageState, capacityPerSecond: number): number {
  const { endpoints, replicas, isWarm, isSaturated, isFailing, demand } = state;
  if (endpoints === 0) return wantedOfNone(demand);
  if (capacityPerSecond === 0 || isFailing) return replicas;
  const wanted = replicasFor(wantedPerSecond(demand, state), state);
  return isWarm && !isSaturated ? wanted : Math.max(replicas, wanted);
}

/**
 * The fewest replicas that serve so many requests in a second. With more of them fewer requests wait
 * behind a long prompt, so that each serves more.
 */
function replicasFor(
  perSecond: number,
  { answering, capacityWith, shownShare }: StageState,
): number {
  // An unsteady last digit must not ask for one replica more.
  const serve = (replicas: number): boolean =>
    (1 + 1e-9) * shownShare * capacityWith(replicas / answering) >= perSecond;
  if (perSecond <= 0) return 0;
  let most = 1;
  while (most < REPLICAS_MAX && !serve(most)) most *= 2;
  let least = most >> 1;
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    if (serve(middle)) most = middle;
    else least = middle;
  }
  return most;
}

/** The ranks of a pod are one replica; of a group of pods only the leader's ports are endpoints. */
export function replicasOf(endpoints: readonly Endpoint[]): number {
  return new Set(endpoints.map(({ id }) => id.replace(/-rank-\d+$/, ''))).size;
}
