import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Destination, HeldSum, RouteOptions } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision, ProfileResult, SchedulingContext } from '../../framework/scheduling.ts';
import { countOf } from '../../framework/values/grouped.ts';
import type { Generation } from '../cores/generation.ts';
import type { DecisionEvent, Expectation, OtherEndpoints } from '../events/journal.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';

/** One decision while it is made. It is complete when it is published. */
export interface Cycle extends DecisionEvent {
  /** Negative until the decision is published. */
  number: number;
  /** Says how long the request has waited once it is placed. */
  options: RouteOptions;
  readonly generation: Generation;
  adoptionsAgo: number;
  changesAgo: number;
  expected: Expectation | undefined;
  /** When its scheduler was asked; undefined without a stopwatch or without a candidate. */
  startedAt: Millis | undefined;
  /** The candidates and those that are ejected. */
  readonly all: readonly Endpoint[];
  decision: Decision | undefined;
  error: unknown;
  refusedBy: string | undefined;
  heldBefore: readonly HeldSum[] | undefined;
  crowdedOut: boolean;
  lostRequests: number;
  besideTrial: number;
  leftOut: OtherEndpoints | undefined;
  faults: readonly string[];
  durationMs: Millis | undefined;
}

/** What a cycle begins with. */
export type CycleInput = Pick<
  Cycle,
  'at' | 'request' | 'options' | 'generation' | 'all' | 'candidates'
>;

const NO_FAULTS: readonly string[] = [];

/** A cycle before its decision. It has no context where there are no candidates. */
export function newCycle({ at, request, options, generation, all, candidates }: CycleInput): Cycle {
  const context =
    candidates.length === 0 ? undefined : generation.core.contextOf(request, candidates, at);
  return {
    number: -1,
    at,
    request,
    options,
    all,
    candidates,
    generation,
    adoptionsAgo: 0,
    changesAgo: 0,
    expected: undefined,
    context,
    startedAt: undefined,
    decision: undefined,
    error: undefined,
    refusedBy: undefined,
    heldBefore: undefined,
    crowdedOut: false,
    lostRequests: 0,
    besideTrial: 0,
    leftOut: undefined,
    faults: NO_FAULTS,
    durationMs: undefined,
  };
}

/** A cycle with a decision. */
export type DecidedCycle = Cycle & {
  readonly context: SchedulingContext;
  readonly decision: Decision;
};

/** `decidedBy` of what another picker decided. */
export const OBSERVED = 'observed';

/** Names what decided, for messages to people. */
export function deciderText(decidedBy: string): string {
  return decidedBy === OBSERVED ? 'the observed picker' : decidedBy;
}

/** Another picker's destination as a decision. Throws `no-endpoints` where it is no candidate. */
export function observedDecision(
  { destination, prefill }: Destination,
  candidates: readonly Endpoint[],
): Decision {
  const at = (wanted: string): Endpoint | undefined =>
    candidates.find(({ address }) => address === wanted);
  const endpoint = at(destination);
  if (endpoint === undefined) {
    throw new RoutingError(
      'no-endpoints',
      `the picker in charge chose ${destination}, which is not among the ${candidates.length} endpoints that may serve this request`,
    );
  }
  const primary: ProfileResult = {
    kind: 'picked',
    profile: OBSERVED,
    targets: [{ endpoint, score: 0 }],
  };
  return {
    primary,
    profiles: [primary],
    headers: new Map(),
    decidedBy: OBSERVED,
    prefill: prefill === undefined ? undefined : at(prefill),
  };
}

/** How errors for clients begin where no endpoint could be asked. */
export const NO_ENDPOINT = 'no endpoint can serve this request: ';

/** Why a request has no candidates: all are full, none is in its subset, or there are none. */
export function noCandidates(
  { all, options: { subset } }: Pick<Cycle, 'all' | 'options'>,
  pool: EndpointPool,
): RoutingError {
  if (all.length > 0) {
    return new RoutingError(
      'saturated',
      `all ${all.length} endpoints that may serve this request have as many requests in flight as they may; try again`,
    );
  }
  const pooled = pool.snapshot().length;
  // Clients do not get `pool.whyEmpty`: it names labels and namespaces of the cluster.
  const why =
    subset === undefined || pooled === 0
      ? 'the pool has no endpoint'
      : `none of the pool's ${countOf(pooled, 'endpoint')} is in the subset the proxy allows (${subset.length} entries)`;
  return new RoutingError('no-endpoints', `${NO_ENDPOINT}${why}`);
}

/**
 * The endpoint that serves the request. Throws `saturated` where the filters left none or a
 * replacement refused, and `no-endpoints` where screening left none.
 */
export function primaryOf({ primary }: Decision, candidates: number): Endpoint {
  const target = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
  if (target !== undefined) return target;
  if (primary.kind === 'exhausted' && primary.screened === true) {
    throw new RoutingError(
      'no-endpoints',
      `${NO_ENDPOINT}screening left none of ${countOf(candidates, 'endpoint')}`,
    );
  }
  if (primary.kind === 'exhausted' && primary.refusedBy !== undefined) {
    throw new RoutingError('saturated', 'the scheduler refused this request');
  }
  throw new RoutingError(
    'saturated',
    `the filters of profile ${primary.profile} left none of ${countOf(candidates, 'endpoint')} for this request`,
  );
}
