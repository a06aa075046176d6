import { dividedLoad } from '../../src/cost-model/engine-load.ts';
import { heldShare } from '../../src/cost-model/held-memory.ts';
import type { Traffic } from '../../src/cost-model/queueing-delay.ts';
import { shownCapacityTokens } from '../../src/cost-model/shown-capacity.ts';
import { slotWaitMs, waitsForSlot } from '../../src/cost-model/slot-wait.ts';
import { decodeStepMs, PRIOR_STEP_TIME } from '../../src/cost-model/step-time.ts';
import {
  ENGINE_MODEL,
  type EngineModelView,
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  type PrefixMatch,
  type StepUnderWay,
} from '../../src/framework/cycle-facts.ts';
import { type Endpoint, METRICS_STALE_MS } from '../../src/framework/endpoint.ts';
import type { Millis } from '../../src/framework/runtime.ts';
import type { CycleKey, SchedulingContext } from '../../src/framework/scheduling.ts';
import type { Mutable } from '../../src/framework/values/mutable.ts';
import type { SharedBeginning } from '../../src/framework/values/shared-beginning.ts';
import { adapterWaits } from './adapter-waits.ts';
import type { PlacedOffer } from './copy-offer.ts';
import type { EndpointState, RequestCost } from './cost-facts.ts';
import { type EndpointSamples, tokensByEach } from './endpoint-samples.ts';
import type { FailureStreaks } from './failure-streaks.ts';
import type { HeldAdapters } from './held-adapters.ts';
import type { SignsOfLife } from './signs-of-life.ts';

/** Capacity in tokens until one is known: an 8 B model on one 80 GB accelerator. */
const CAPACITY_TOKENS_DEFAULT = 400_000;
const SUSPECT_COST_MS = 30_000;
/** More than any wait: an endpoint refuses what is longer than its context window. */
const TOO_LONG_COST_MS = 1e12;

type ReadState = Mutable<Omit<EndpointState, 'traffic'>> & {
  readonly traffic: Mutable<Traffic>;
  readonly begunStep: Mutable<StepUnderWay>;
};

const NO_STEP: StepUnderWay = { restMs: 0, tokens: 0, steps: 0, since: 0 };
const NO_LOAD = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/** What the costs of one scoring are computed from. */
export interface CostCycle {
  readonly context: SchedulingContext;
  readonly request: RequestCost;
  /**
   * Reads the state of one endpoint after another into one object: with hundreds of endpoints a
   * decision, garbage would cost more than all else.
   */
  readonly stateOf: (endpoint: Endpoint, cachedTokens?: number) => EndpointState;
  readonly scored: readonly Endpoint[];
  /** Whether a sample was old. */
  readonly hasOld: () => boolean;
  readonly match: PrefixMatch;
  readonly sharedAt: ((endpoint: Endpoint) => SharedBeginning | undefined) | undefined;
  /** Tokens of the prompt that are held, or will be, when the request comes there. */
  readonly cachedAt: (endpoint: Endpoint) => number;
  /** The copy that its scoring has considered. */
  copy: PlacedOffer | undefined;
}

/** What the scorer has learned of endpoints, and where it finds what they hold of a prompt. */
export interface Known {
  readonly matchKey: CycleKey<PrefixMatch>;
  readonly streaks: FailureStreaks;
  readonly samples: EndpointSamples;
  readonly held: HeldAdapters;
  readonly signs: SignsOfLife;
}

/** One scoring of these endpoints for the request of the context. */
export function costCycle(
  context: SchedulingContext,
  scored: readonly Endpoint[],
  { matchKey, streaks, samples, held, signs }: Known,
): CostCycle {
  const inFlight = context.get(IN_FLIGHT);
  const match = context.get(matchKey);
  const sharedAt = inFlight.sharedWith?.(context.request);
  const model = context.get(ENGINE_MODEL);
  const { now } = context;
  const outputTokens = model.expectedOutputTokens(context.request);
  const isCrowdedOut = inFlight.isCrowdedOut?.(context.request) ?? false;
  const { promptTokens, outputTokensMax = 1 } = context.request;
  const request = { promptTokens, outputTokens, isCrowdedOut };
  const demandRate = model.demandRate(now);
  // Computed where a sample is old: with hundreds of endpoints none is, most of the time.
  let usualMs: Millis | undefined;
  const adapterMs = adapterWaits(context, { held, samples, scored, outputTokens });
  const state = emptyState(requestsPerToken(scored, inFlight, samples));
  const cachedAt = (endpoint: Endpoint): number => cachedTokensAt(endpoint, match, sharedAt);
  const isSilent = (endpoint: Endpoint): boolean =>
    signs.isSilent(endpoint, (usualMs ??= signs.usualMs(scored, now)), now);
  // As short as it can be, with what is rare elsewhere: V8 bounds how much it compiles into one
  // function.
  const stateOf = (endpoint: Endpoint, cachedTokens = cachedAt(endpoint)): EndpointState => {
    state.load = inFlight.load(endpoint);
    state.engine = model.stepTime(endpoint);
    state.computedMs = isCrowdedOut ? computedMs(inFlight, endpoint, now) : 0;
    state.cachedTokens = cachedTokens;
    state.step = state.load.requests > 0 ? readStep(state, endpoint, model, now) : NO_STEP;
    const sample = samples.of(endpoint);
    const { engines, capacityTokens, usedTokens, usedByEach, lora, sampledAt } = sample;
    // The request goes to one engine, and the cost is that of this one.
    if (engines !== 1) state.load = dividedLoad(state.load, engines);
    state.capacityTokens = capacityTokens;
    // The engine counts tokens that requests share once. An answer of ours that it took out of
    // memory takes it again before a new request.
    const { begunRequests = 0, keptShare } = state.load;
    state.heldTokens = Math.max(usedTokens, begunRequests * usedByEach);
    state.heldByEach = usedByEach;
    if (capacityTokens === 0 || keptShare !== undefined) readMemory(state, endpoint, engines);
    state.adapterMs = lora === undefined ? 0 : adapterMs(endpoint, lora, state);
    state.slotMs = waitsForSlot(state.load) ? slotMs(state, outputTokens) : 0;
    state.tooLongMs = promptTokens + outputTokensMax > sample.windowTokens ? TOO_LONG_COST_MS : 0;
    state.suspectMs = streaks.isSuspect(endpoint, now) ? SUSPECT_COST_MS : 0;
    const isOld = now - sampledAt > METRICS_STALE_MS;
    state.stale = isOld && isSilent(endpoint);
    const demand = model.demand(endpoint);
    state.traffic.requestsPerMs = isCrowdedOut ? 0 : demandRate * demand.requests;
    state.traffic.utilization = demandRate * demand.workMs;
    // Our own count, where it has reported none for long.
    if (isOld) state.heldTokens = state.load.contextTokens;
    return state;
  };
  const hasOld = (): boolean => usualMs !== undefined;
  return { context, request, stateOf, scored, hasOld, match, sharedAt, cachedAt, copy: undefined };
}

/** Where nothing runs, as at most endpoints of a large pool, no step is under way. */
function readStep(
  { begunStep, load }: ReadState,
  endpoint: Endpoint,
  model: EngineModelView,
  now: Millis,
): StepUnderWay {
  if (model.readStep === undefined) return NO_STEP;
  model.readStep(endpoint, load, now, begunStep);
  return begunStep;
}

function computedMs(inFlight: InFlightView, endpoint: Endpoint, now: Millis): Millis {
  return inFlight.computedMs?.(endpoint, now) ?? 0;
}

function slotMs({ load, engine }: ReadState, outputTokens: number): Millis {
  return slotWaitMs(load, outputTokens * decodeStepMs(load.requests, load.contextTokens, engine));
}

/** The memory of an engine that does not report its size, or counts what no request holds as in use. */
function readMemory(state: ReadState, endpoint: Endpoint, engines: number): void {
  state.capacityTokens ||= unknownCapacityTokens(state.load, endpoint);
  const { load, capacityTokens } = state;
  const usedTokens = heldShare(load, endpoint, capacityTokens) * capacityTokens;
  const usedByEach = tokensByEach(usedTokens, endpoint.metrics.runningRequests / engines);
  state.heldByEach = usedByEach;
  state.heldTokens = Math.max(usedTokens, (state.load.begunRequests ?? 0) * usedByEach);
}

function unknownCapacityTokens(load: InFlightLoad, endpoint: Endpoint): number {
  return shownCapacityTokens(load, endpoint) ?? CAPACITY_TOKENS_DEFAULT;
}

/** Summed once, where it is asked for: only where memory is short and answers are long. */
function requestsPerToken(
  scored: readonly Endpoint[],
  inFlight: InFlightView,
  samples: EndpointSamples,
): () => number {
  const sum = (): number => {
    let [requests, tokens] = [0, 0];
    for (const endpoint of scored) {
      const load = inFlight.load(endpoint);
      requests += load.requests;
      const { engines, capacityTokens } = samples.of(endpoint);
      tokens += engines * (capacityTokens || unknownCapacityTokens(load, endpoint));
    }
    return requests / tokens;
  };
  let known: number | undefined;
  return () => (known ??= sum());
}

function emptyState(requestsPerToken: () => number): ReadState {
  return {
    load: NO_LOAD,
    engine: PRIOR_STEP_TIME,
    traffic: { requestsPerMs: 0, utilization: 0 },
    computedMs: 0,
    step: NO_STEP,
    begunStep: { restMs: 0, tokens: 0, steps: 0, since: 0 },
    cachedTokens: 0,
    capacityTokens: 0,
    heldTokens: 0,
    heldByEach: 0,
    adapterMs: 0,
    slotMs: 0,
    suspectMs: 0,
    tooLongMs: 0,
    stale: false,
    requestsPerToken,
  };
}

/** What it holds, or will have computed for a prompt that waits for it and begins alike. */
function cachedTokensAt(
  endpoint: Endpoint,
  match: PrefixMatch,
  sharedAt: CostCycle['sharedAt'],
): number {
  const held = match.matchedBlocks(endpoint) * match.blockTokens;
  return sharedAt === undefined ? held : Math.max(held, sharedAt(endpoint)?.tokens ?? 0);
}
