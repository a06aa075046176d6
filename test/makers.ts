import type { AttributeKey, Endpoint, EndpointId } from '../src/framework/endpoint.ts';
import type { Routed } from '../src/framework/observer.ts';
import { type InferenceRequest, NO_BLOCKS } from '../src/framework/request.ts';
import type { Random, Runtime } from '../src/framework/runtime.ts';
import type { CycleKey, SchedulingContext } from '../src/framework/scheduling.ts';
import type { DecisionEvent } from '../src/picker/events/journal.ts';
import { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { type FactFields, factsOf } from './made-facts.ts';

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
    changesAgo: 0,
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
    leftOut: undefined,
    faults: [],
    durationMs: undefined,
    ...fields,
  };
}

export interface ContextFields extends FactFields {
  readonly request?: InferenceRequest;
  readonly now?: number;
  readonly random?: Random;
  /** Names of the facts that `get` gives; all if omitted. */
  readonly needs?: ReadonlySet<string>;
}

export function makeContext(fields: ContextFields = {}): SchedulingContext {
  const { needs } = fields;
  const facts = factsOf(fields);
  return Object.freeze({
    request: fields.request ?? makeRequest(),
    now: fields.now ?? NOW,
    random: fields.random ?? seededRandom(1),
    get<T>({ name }: CycleKey<T>): T {
      if (needs !== undefined && !needs.has(name)) {
        throw new Error(`the plugin reads ${name} and does not declare it in needs`);
      }
      const fact = facts.find(([beginning]) => name.startsWith(beginning));
      if (fact !== undefined) return fact[1] as T;
      throw new Error(`makeContext has no fact ${name}: add it to test/made-facts.ts`);
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
