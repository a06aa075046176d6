import { PRIOR_STEP_TIME } from '../src/cost-model/step-time.ts';
import type { StepTime } from '../src/framework/cycle-facts.ts';
import {
  type AssignmentView,
  assignmentKey,
  type Demand,
  ENGINE_MODEL,
  type EngineModelView,
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  type LatencyAnchorsView,
  latencyAnchorsKey,
  type MediaMatch,
  MODELS_IN_FLIGHT,
  type ModelsInFlightView,
  mediaMatchKey,
  type PrefixMatch,
  prefixMatchKey,
  reusableTokensKey,
  type TopologyView,
  topologyKey,
} from '../src/framework/cycle-facts.ts';
import type { AttributeKey, Endpoint, EndpointId } from '../src/framework/endpoint.ts';
import type { Routed } from '../src/framework/observer.ts';
import { type InferenceRequest, NO_BLOCKS } from '../src/framework/request.ts';
import type { Random, Runtime } from '../src/framework/runtime.ts';
import type { CycleKey, SchedulingContext } from '../src/framework/scheduling.ts';
import type { DecisionEvent } from '../src/picker/events/journal.ts';
import { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';

/** Time of the contexts made here, and of the samples of endpoints unless they set another. */
export const NOW: number = 10_000;

export const NEVER: number = Number.NEGATIVE_INFINITY;

export interface EndpointFields {
  readonly slot?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly waiting?: number;
  readonly running?: number;
  readonly kv?: number;
  readonly sampledAt?: number;
  readonly attributes?: readonly (readonly [AttributeKey<never>, unknown])[];
}

/** An endpoint that throws on every attempt to change it. */
export function makeEndpoint(name: string, fields: EndpointFields = {}): Endpoint {
  const { slot = 0, labels = {}, waiting = 0, running = 0, kv = 0, sampledAt = NOW } = fields;
  const attributes = new Map<AttributeKey<never>, unknown>(fields.attributes);
  return Object.freeze({
    id: name as EndpointId,
    address: `${name}:8000`,
    slot,
    labels: new FrozenMap(Object.entries(labels)),
    metrics: Object.freeze({
      waitingQueueSize: waiting,
      runningRequests: running,
      kvCacheUsage: kv,
      sampledAt,
    }),
    attribute: <T>(key: AttributeKey<T>): T => {
      const value = attributes.get(key as unknown as AttributeKey<never>);
      return value === undefined ? key.initial : (value as T);
    },
  });
}

/** One endpoint for each set of fields: `pod-0` in slot 0 and so on. */
export function makePool(fields: readonly EndpointFields[]): readonly Endpoint[] {
  return Object.freeze(fields.map((each, slot) => makeEndpoint(`pod-${slot}`, { slot, ...each })));
}

export function makeRequest(fields: Partial<InferenceRequest> = {}): InferenceRequest {
  return Object.freeze({
    id: 'r0',
    model: 'm',
    streaming: true,
    outputTokensMax: undefined,
    promptTokens: 640,
    prompt: NO_BLOCKS,
    priority: 0,
    fairnessId: 'default-flow',
    objective: undefined,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: new FrozenMap<string, string>(),
    bodyBytes: 2560,
    ...fields,
  });
}

/** A decision that placed nothing: no candidate, no result and no error. */
export function makeDecision(fields: Partial<DecisionEvent> = {}): DecisionEvent {
  return {
    number: 0,
    at: NOW,
    request: makeRequest(),
    options: {},
    adoptionsAgo: 0,
    expected: undefined,
    candidates: [],
    context: undefined,
    decision: undefined,
    error: undefined,
    refusedBy: undefined,
    heldBefore: undefined,
    crowdedOut: false,
    lostRequests: 0,
    besideTrial: 0,
    faults: [],
    durationMs: undefined,
    ...fields,
  };
}

export interface ContextFields {
  readonly request?: InferenceRequest;
  readonly now?: number;
  readonly random?: Random;
  /** Requests in flight by slot; none if omitted. */
  readonly load?: readonly Partial<InFlightLoad>[];
  /** Models of the requests in flight, by slot. */
  readonly models?: readonly ReadonlyMap<string, number>[];
  /** Step time of each endpoint by slot; the prior if omitted. */
  readonly stepTimes?: readonly StepTime[];
  /** Demand in a millisecond by slot; none if omitted. */
  readonly demand?: readonly Partial<Demand>[];
  /** Blocks of the prompt that each endpoint holds, by slot; the match of every producer. */
  readonly matchedBlocks?: readonly number[];
  readonly totalBlocks?: number;
  /** Tokens that need not be computed anywhere; none if omitted. */
  readonly reusableTokens?: number;
  /** Names of the facts that `get` gives; all if omitted. */
  readonly needs?: ReadonlySet<string>;
}

export function makeContext(fields: ContextFields = {}): SchedulingContext {
  const { load = [], matchedBlocks = [], totalBlocks = 10, needs } = fields;
  const inFlight: InFlightView = {
    load: ({ slot }) => ({
      requests: 0,
      pendingPrefillTokens: 0,
      contextTokens: 0,
      ...load[slot],
    }),
  };
  const match: PrefixMatch = {
    totalBlocks,
    blockTokens: 64,
    matchedBlocks: ({ slot }) => matchedBlocks[slot] ?? 0,
    reuseRate: () => 0,
  };
  const modelsInFlight: ModelsInFlightView = {
    models: ({ slot }) => fields.models?.[slot] ?? new Map(),
  };
  const engineModel: EngineModelView = {
    stepTime: ({ slot }) => fields.stepTimes?.[slot] ?? PRIOR_STEP_TIME,
    demand: ({ slot }) => ({ requests: 0, workMs: 0, ...fields.demand?.[slot] }),
    demandRate: () => 1,
    expectedOutputTokens: ({ outputTokensMax = 256 }) => Math.min(256, outputTokensMax),
  };
  const media: MediaMatch = { items: totalBlocks, matchedItems: match.matchedBlocks };
  const topology: TopologyView = {
    placeOf: ({ labels }) =>
      Object.fromEntries(
        ['host', 'rack', 'zone', 'region'].flatMap((level) => {
          const value = labels.get(level);
          return value === undefined ? [] : [[level, value]];
        }),
      ),
  };
  const latencies: LatencyAnchorsView = {
    anchorsOf: ({ slot }) => ({
      floorMs: 100 + slot,
      low: { ttftMs: 200, requests: 2 },
      typical: { ttftMs: 400, requests: 8 },
      calibrated: true,
    }),
  };
  // The class of a request is its model; the label `class` says which class an endpoint serves.
  const assignment: AssignmentView = {
    classOf: ({ model }) => model,
    assigned: ({ labels }) => labels.get('class'),
  };
  return Object.freeze({
    request: fields.request ?? makeRequest(),
    now: fields.now ?? NOW,
    random: fields.random ?? seededRandom(1),
    get<T>(key: CycleKey<T>): T {
      if (needs !== undefined && !needs.has(key.name)) {
        throw new Error(`the plugin reads ${key.name} and does not declare it in needs`);
      }
      if (key.name === IN_FLIGHT.name) return inFlight as T;
      if (key.name === MODELS_IN_FLIGHT.name) return modelsInFlight as T;
      if (key.name === ENGINE_MODEL.name) return engineModel as T;
      if (key.name.startsWith(prefixMatchKey('').name)) return match as T;
      if (key.name.startsWith(reusableTokensKey('').name)) {
        return (fields.reusableTokens ?? 0) as T;
      }
      if (key.name.startsWith(mediaMatchKey('').name)) return media as T;
      if (key.name.startsWith(topologyKey('').name)) return topology as T;
      if (key.name.startsWith(assignmentKey('').name)) return assignment as T;
      if (key.name.startsWith(latencyAnchorsKey('').name)) return latencies as T;
      throw new Error(`makeContext has no fact ${key.name}: add it to test/makers.ts`);
    },
  });
}

export function makeRouted(endpoint: Endpoint, fields: Partial<Routed> = {}): Routed {
  return Object.freeze({
    number: 0,
    request: makeRequest(),
    endpoint,
    at: NOW,
    cachedTokens: 0,
    load: { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 },
    firstTokenVisible: true,
    ...fields,
  });
}

/** A runtime with simulated time, a fixed seed and no network. */
export function makeRuntime(seed = 1): Runtime {
  return {
    clock: new SimulatedClock(),
    random: seededRandom(seed),
    network: { get: () => Promise.reject(new Error('no network in this test')) },
  };
}

class FrozenMap<K, V> extends Map<K, V> {
  override set(key: K, value: V): this {
    // The constructor of Map calls `set` before the map is frozen.
    if (Object.isFrozen(this))
      throw new TypeError(`cannot set ${String(key)}: the map is read-only`);
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    throw new TypeError(`cannot delete ${String(key)}: the map is read-only`);
  }

  override clear(): void {
    throw new TypeError('cannot clear: the map is read-only');
  }

  constructor(entries?: Iterable<readonly [K, V]>) {
    super(entries);
    Object.freeze(this);
  }
}
