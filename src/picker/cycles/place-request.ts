import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import { estimatedOutputTokens } from '../../framework/output-estimate.ts';
import type { Decision, ProfileResult } from '../../framework/scheduling.ts';
import type { EndpointBacklog } from '../capacity/endpoint-backlog.ts';
import type { Generation } from '../cores/generation.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { Expectation } from '../events/journal.ts';
import type { ReservingLedger } from '../load/ledger.ts';
import { type Reserved, reserve } from '../load/reserve.ts';
import type { Cycle } from './cycle.ts';
import { ReservedRequest } from './reserved-request.ts';
import type { ReservedRequestParts } from './reserved-request-parts.ts';

/** The parts of a picker that reservations need. */
export interface ReserveParts
  extends Pick<
    ReservedRequestParts,
    'pool' | 'clock' | 'faults' | 'open' | 'ejector' | 'cachedCounts'
  > {
  readonly backlog: EndpointBacklog;
  readonly ledger: ReservingLedger;
  readonly engineModel: EngineModel;
}

/** A decision, and its primary. */
interface PickedEndpoint {
  readonly decision: Decision;
  readonly endpoint: Endpoint;
}

/** What the core that decided expects of the request there. */
export function expectationOf(
  { request, context, generation: { core } }: Cycle,
  { decision: { prefill }, endpoint }: PickedEndpoint,
): Expectation {
  return {
    cachedTokens: core.cachedTokens(endpoint, context),
    prefillCachedTokens: prefill === undefined ? 0 : core.cachedTokens(prefill, context),
    estimatedOutputTokens:
      core.outputEstimate && estimatedOutputTokens(request, core.outputEstimate),
  };
}

/** Reserves for a cycle by this decision, whose primary is `endpoint`. */
export function reserveRequest(
  cycle: Cycle,
  { decision, endpoint }: PickedEndpoint,
  parts: ReserveParts,
): ReservedRequest {
  const { number, at, request, generation, options } = cycle;
  const { firstTokenVisible = false, endVisible = true, waited } = options;
  const { prefill } = decision;
  // Plugins that add response headers may read all of it later.
  const keepsRuns = options.scoresWanted === true || generation.responseHeaderPlugins.length > 0;
  // A response in one piece shows only its end, and no first token.
  const isVisible = firstTokenVisible && request.streaming;
  const expected = cycle.expected ?? expectationOf(cycle, { decision, endpoint });
  const heldMs = waited?.heldMs;
  const placed = { number, at, request, endpoint, prefill, heldMs, firstTokenVisible: isVisible };
  return reservePlaced(
    {
      ...placed,
      decision: keepsRuns ? decision : withoutRuns(decision),
      cachedTokens: expected.cachedTokens,
      prefillCachedTokens: expected.prefillCachedTokens,
      estimatedOutputTokens: expected.estimatedOutputTokens,
      endVisible,
    },
    generation,
    parts,
  );
}

/**
 * The decision without the scores of all endpoints: a request is in flight for seconds, and would
 * keep them, and the states of the endpoints at that time, from the garbage collector.
 */
function withoutRuns(decision: Decision): Decision {
  const { primary, profiles } = decision;
  return { ...decision, primary: withoutRun(primary), profiles: profiles.map(withoutRun) };
}

function withoutRun(result: ProfileResult): ProfileResult {
  return { ...result, run: undefined };
}

/** A request and where it goes, with what is known about it there. */
export interface PlacedRequest
  extends Pick<
    Routed,
    | 'number'
    | 'at'
    | 'request'
    | 'endpoint'
    | 'prefill'
    | 'heldMs'
    | 'cachedTokens'
    | 'estimatedOutputTokens'
  > {
  readonly decision: Decision;
  readonly prefillCachedTokens: number;
  readonly firstTokenVisible: boolean;
  readonly endVisible: boolean;
  /** What was in flight at the endpoint when it was decided elsewhere; else what is so now. */
  readonly load?: InFlightLoad | undefined;
}

/** The plugins that observe a request, and those that add to its response. */
type PlacedObservers = Pick<Generation, 'requestObservers' | 'responseHeaderPlugins' | 'reporters'>;

const NO_ENDPOINTS: readonly Endpoint[] = [];

/** Reserves for a request whose endpoint is known. */
export function reservePlaced(
  placed: PlacedRequest,
  { requestObservers: observers, responseHeaderPlugins, reporters }: PlacedObservers,
  parts: ReserveParts,
): ReservedRequest {
  const { decision, at, firstTokenVisible } = placed;
  const { pool, clock, faults, open, ejector, cachedCounts } = parts;
  const reserved = reserveLoad(placed, parts);
  const { ttftMs, decodeMs, reservation } = reserved;
  const routed = routedOf(placed, reserved);
  const endsAt = placed.endVisible ? undefined : at + ttftMs + decodeMs;
  // Each field by its name: copying the rest of an object takes longer than all else here.
  const request = new ReservedRequest({
    pool,
    clock,
    faults,
    open,
    ejector,
    cachedCounts,
    routed,
    decision,
    reservation,
    endsAt,
    observers,
    responseHeaderPlugins,
    reporters,
  });
  request.publish();
  ejector.routed(routed, ttftMs);
  parts.backlog.routed(routed);
  if (!firstTokenVisible) request.expectPrefill(ttftMs);
  open?.add(request);
  return request;
}

function reserveLoad(placed: PlacedRequest, { ledger, engineModel }: ReserveParts): Reserved {
  const { request, endpoint, prefill, cachedTokens, prefillCachedTokens } = placed;
  return reserve(endpoint, {
    request,
    prefill: prefill && { endpoint: prefill, cachedTokens: prefillCachedTokens },
    encoders: placed.decision.encoders ?? NO_ENDPOINTS,
    cachedTokens,
    ledger,
    engineModel,
    estimatedOutputTokens: placed.estimatedOutputTokens,
    at: placed.at,
    firstTokenVisible: placed.firstTokenVisible,
  });
}

/** What observers get, with what was expected of the request. */
export function routedOf(
  placed: PlacedRequest,
  {
    load,
    prefillLoad,
    ttftMs,
    tpotMs,
  }: Pick<Reserved, 'load' | 'prefillLoad' | 'ttftMs' | 'tpotMs'>,
): Routed {
  const { number, at, request, endpoint, prefill, heldMs, cachedTokens } = placed;
  return {
    number,
    request,
    endpoint,
    prefill,
    cachedTokens,
    prefillCachedTokens: prefill && placed.prefillCachedTokens,
    estimatedOutputTokens: placed.estimatedOutputTokens,
    load: placed.load ?? load,
    prefillLoad,
    at,
    heldMs,
    expectedTtftMs: ttftMs,
    expectedTpotMs: tpotMs,
    firstTokenVisible: placed.firstTokenVisible,
  };
}
