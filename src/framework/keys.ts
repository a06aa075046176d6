import { type AttributeKey, attributeKey, type Endpoint } from './endpoint.ts';
import type { InferenceRequest } from './request.ts';
import type { Millis } from './runtime.ts';
import { type CycleKey, cycleKey } from './scheduling.ts';

/** The dictionary of shared attributes and per-cycle facts. */

export interface LoraState {
  readonly running: ReadonlySet<string>;
  readonly waiting: ReadonlySet<string>;
  /** Adapters the server can hold at once. */
  readonly max: number;
}

/** Undefined where the server reports no LoRA state. */
export const LORA: AttributeKey<LoraState | undefined> = attributeKey<LoraState | undefined>(
  'lora',
  undefined,
);

export interface CacheConfig {
  readonly blockTokens: number;
  readonly blocks: number;
}

/** The engine's KV cache as it reports it; undefined until it does. */
export const CACHE_CONFIG: AttributeKey<CacheConfig | undefined> = attributeKey<
  CacheConfig | undefined
>('cache-config', undefined);

/** When the server's process began, in seconds since the epoch by its own clock; undefined where its page does not say. */
export const STARTED_AT: AttributeKey<number | undefined> = attributeKey<number | undefined>(
  'started-at',
  undefined,
);

/** Further figures that a configuration has read from the servers' pages, by the name it gives them. */
export const CUSTOM_METRICS: AttributeKey<ReadonlyMap<string, number>> = attributeKey<
  ReadonlyMap<string, number>
>('custom-metrics', new Map());

/** How much of this request's prompt each endpoint is thought to hold. */
export interface PrefixMatch {
  readonly totalBlocks: number;
  readonly blockTokens: number;
  /** Contiguous from the first block. */
  matchedBlocks(endpoint: Endpoint): number;
}

export const DEFAULT_PREFIX_PRODUCER = 'approx-prefix-cache-producer';
/** The one that engines' own KV events feed. */
export const PRECISE_PREFIX_PRODUCER = 'precise-prefix-cache-producer';

/** The prefix match as told by the producer with this name. */
export function prefixMatchKey(producer: string = DEFAULT_PREFIX_PRODUCER): CycleKey<PrefixMatch> {
  return cycleKey(`prefix-match/${producer}`);
}

/** What we ourselves have sent and not yet seen the end of. Counts at once, before any scrape shows it. */
export interface InFlightLoad {
  readonly requests: number;
  /** Uncached prompt tokens sent whose first token has not come yet. */
  readonly pendingPrefillTokens: number;
  /** Prompt and generated-so-far tokens of the requests in flight. */
  readonly contextTokens: number;
}

export interface InFlightView {
  load(endpoint: Endpoint): InFlightLoad;
}

/** Always there: the ledger of the picker itself provides it. */
export const IN_FLIGHT: CycleKey<InFlightView> = cycleKey('in-flight');

/** Which models and adapters our own requests in flight ask for. */
export interface ModelsInFlightView {
  /** Model → requests, at least one each. */
  models(endpoint: Endpoint): ReadonlyMap<string, number>;
}

/** Always there, as `IN_FLIGHT` is. */
export const MODELS_IN_FLIGHT: CycleKey<ModelsInFlightView> = cycleKey('models-in-flight');

/** Requests, and the work that is in them: prompts, and what each answer adds to the steps it is in. */
export interface Demand {
  readonly requests: number;
  readonly workMs: Millis;
}

/** What one step of a continuously batching engine costs, as a linear model. */
export interface StepTime {
  /** Of each first token whatever the engine does: API server, network. */
  readonly overheadMs: Millis;
  /** A step that does nothing. */
  readonly baseMs: Millis;
  readonly perPrefillTokenMs: Millis;
  readonly perSequenceMs: Millis;
  readonly perContextTokenMs: Millis;
  /** Prompt tokens computed in one step at most (chunked prefill). */
  readonly prefillTokensMax: number;
}

/** What has been learned from requests and answers: how much is sent where, how fast each endpoint is, how long answers tend to be. */
export interface EngineModelView {
  /** The prior, until the endpoint has been observed. */
  stepTime(endpoint: Endpoint): StepTime;
  /** What was sent to the endpoint of late, the older the less it counts. */
  demand(endpoint: Endpoint): Demand;
  /** Times a demand, what comes in a millisecond: requests, and milliseconds of work, above 1 when more than can be done. */
  demandRate(now: Millis): number;
  /** Never more than the client's cap. */
  expectedOutputTokens(request: InferenceRequest): number;
}

/** Always there: the picker itself learns it. */
export const ENGINE_MODEL: CycleKey<EngineModelView> = cycleKey('engine-model');

/** How a pool is divided among classes of requests, along one dimension. */
export interface AssignmentView {
  /** The class a request belongs to; undefined for none. */
  classOf(request: InferenceRequest): string | undefined;
  /** The class an endpoint serves; undefined for one that serves all. */
  assigned(endpoint: Endpoint): string | undefined;
}

export const DEFAULT_ASSIGNMENT_PRODUCER = 'assignment-informer';

/** The division as the informer with this name has it. */
export function assignmentKey(
  producer: string = DEFAULT_ASSIGNMENT_PRODUCER,
): CycleKey<AssignmentView> {
  return cycleKey(`assignment/${producer}`);
}

/** From the nearest to the farthest that two servers may have in common. */
export const TOPOLOGY_LEVELS = ['host', 'rack', 'block', 'zone', 'region'] as const;
export type TopologyLevel = (typeof TOPOLOGY_LEVELS)[number];

/** Where a server, or whoever asks for one, stands; levels that are not known are left out. */
export type TopologyPlace = Partial<Readonly<Record<TopologyLevel, string>>>;

export interface TopologyView {
  placeOf(endpoint: Endpoint): TopologyPlace;
}

export const DEFAULT_TOPOLOGY_PRODUCER = 'topology-extractor';

/** Where endpoints stand, as told by the producer with this name. */
export function topologyKey(producer: string = DEFAULT_TOPOLOGY_PRODUCER): CycleKey<TopologyView> {
  return cycleKey(`topology/${producer}`);
}

/** The nearest level that both are known to have in common; undefined for none. */
export function sharedLevel(a: TopologyPlace, b: TopologyPlace): TopologyLevel | undefined {
  return TOPOLOGY_LEVELS.find((level) => a[level] !== undefined && a[level] === b[level]);
}
