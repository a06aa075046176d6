import type { Endpoint } from './endpoint.ts';
import type { ServedModel } from './endpoint-attributes.ts';
import type { InferenceRequest } from './request.ts';
import type { Millis } from './runtime.ts';
import { type CycleKey, cycleKey } from './scheduling.ts';
import type { TopologyPlace } from './topology.ts';
import type { SharedBeginning } from './values/shared-beginning.ts';

/** All facts of a cycle that plugins share, with the keys that name them. */

export interface ServedModelsView {
  /** Undefined until the endpoint's first answer. */
  modelsOf(endpoint: Endpoint): readonly ServedModel[] | undefined;
}

/** Provided by the data source that asks servers for their models. */
export const SERVED_MODELS: CycleKey<ServedModelsView> = cycleKey('served-models');

/** How much of this request's prompt each endpoint is expected to hold. */
export interface PrefixMatch {
  readonly totalBlocks: number;
  readonly blockTokens: number;
  /**
   * Contiguous from the first block, except where `approx-prefix-cache-producer` follows the
   * reference: then also blocks behind a gap, up to the first that no endpoint holds.
   */
  matchedBlocks(endpoint: Endpoint): number;
  /** Left out, or undefined of an endpoint, where no events say it. */
  heldBlocks?(endpoint: Endpoint): HeldBlocks | undefined;
  /** The most that any endpoint of the pool holds; left out where each has to be asked. */
  mostBlocks?(): number;
  /** How often in a millisecond what a new prompt displaces would be used; left out if unknown. */
  reuseRate?(endpoint: Endpoint, now: Millis): number;
}

/** Blocks of a prompt that an endpoint holds, each contiguous from the first and without weights. */
export interface HeldBlocks {
  readonly inAnyTier: number;
  /** Those with a copy in the memory of the host, from where other endpoints can take them. */
  readonly onHost: number;
}

export const DEFAULT_PREFIX_PRODUCER = 'approx-prefix-cache-producer';
/** The producer that reads the engines' KV events. */
export const PRECISE_PREFIX_PRODUCER = 'precise-prefix-cache-producer';

/** The prefix match of the producer with this name. */
export function prefixMatchKey(producer: string = DEFAULT_PREFIX_PRODUCER): CycleKey<PrefixMatch> {
  return cycleKey(`prefix-match/${producer}`);
}

/** How many images, videos and sounds of this request each endpoint was sent before. */
export interface MediaMatch {
  /** Different items of the request. */
  readonly items: number;
  matchedItems(endpoint: Endpoint): number;
}

export const DEFAULT_MEDIA_PRODUCER = 'mm-embeddings-cache-producer';

/** The media match of the producer with this name. */
export function mediaMatchKey(producer: string = DEFAULT_MEDIA_PRODUCER): CycleKey<MediaMatch> {
  return cycleKey(`media-match/${producer}`);
}

/** What this picker has in flight at an endpoint. It counts at once, before any scrape shows it. */
export interface InFlightLoad {
  readonly requests: number;
  /** Uncached prompt tokens of requests whose first token has not been seen. */
  readonly pendingPrefillTokens: number;
  /** Prompt tokens and expected output tokens of the requests in flight. */
  readonly contextTokens: number;
  /**
   * As the reference counts: uncached prompt tokens of requests whose first token has not been seen,
   * also where another endpoint computes them. Where the configuration adds estimated output,
   * uncached prompt and estimated output of each request until its end. Left out for
   * `pendingPrefillTokens`.
   */
  readonly countedTokens?: number | undefined;
  /**
   * The part of `pendingPrefillTokens` that was sent there, where the rest waits at the picker; left
   * out for all.
   */
  readonly sentPrefillTokens?: number | undefined;
  /** Requests whose first token has been seen; 0 if left out. */
  readonly begunRequests?: number | undefined;
  /** How many requests the server runs at a time, as it has shown; any number if left out. */
  readonly runningMax?: number | undefined;
  /**
   * The share of KV memory that the server counts as in use although no request holds it, as it has
   * shown; left out for none.
   */
  readonly keptShare?: number | undefined;
}

/** The tokens in flight that detectors, filters and scorers of the reference compare. */
export function countedTokens(load: InFlightLoad): number {
  return load.countedTokens ?? load.pendingPrefillTokens;
}

export interface InFlightView {
  load(endpoint: Endpoint): InFlightLoad;
  /**
   * What the request's prompt has in common with prompts that wait at the picker for an endpoint:
   * it will be computed there. Undefined while nothing waits, and of an endpoint for nothing.
   */
  sharedWith?(
    request: InferenceRequest,
  ): ((endpoint: Endpoint) => SharedBeginning | undefined) | undefined;
  /**
   * Whether another flow fills the pool and has got more than the flow of this request. Then this
   * request does not wait for the sake of others. False where it is left out.
   */
  isCrowdedOut?(request: InferenceRequest): boolean;
  /** For how long the pending prompts of an endpoint should have been computed already; 0 if left out. */
  computedMs?(endpoint: Endpoint, at: Millis): Millis;
}

/** Always provided, by the picker's ledger. */
export const IN_FLIGHT: CycleKey<InFlightView> = cycleKey('in-flight');

/** A time to the first token, and the requests in flight with which it was observed. */
interface LatencyPoint {
  readonly ttftMs: Millis;
  readonly requests: number;
}

/** What was observed of an endpoint's times to the first token. */
export interface LatencyAnchors {
  /** Without load. */
  readonly floorMs: Millis;
  readonly low: LatencyPoint;
  readonly typical: LatencyPoint;
  /** Whether there were enough requests lately to rely on both points. */
  readonly calibrated: boolean;
}

export interface LatencyAnchorsView {
  /** Undefined where too little is known of the endpoint. */
  anchorsOf(endpoint: Endpoint): LatencyAnchors | undefined;
}

export const LATENCY_OBSERVER = 'latency-observer-producer-hub';

/** What the observer with this name has observed. */
export function latencyAnchorsKey(
  producer: string = LATENCY_OBSERVER,
): CycleKey<LatencyAnchorsView> {
  return cycleKey(`latency-anchors/${producer}`);
}

/** The models and adapters of this picker's requests in flight. */
export interface ModelsInFlightView {
  /** Model → number of requests, at least 1. */
  models(endpoint: Endpoint): ReadonlyMap<string, number>;
}

/** Always provided, by the picker's ledger. */
export const MODELS_IN_FLIGHT: CycleKey<ModelsInFlightView> = cycleKey('models-in-flight');

/** Requests, and their engine time: of prompts, and what answers add to their steps. */
export interface Demand {
  readonly requests: number;
  readonly workMs: Millis;
}

/** The duration of one step of an engine with continuous batching, as a linear model. */
export interface StepTime {
  /** Fixed overhead of each first token: API server, network. */
  readonly overheadMs: Millis;
  /** Duration of an empty step. */
  readonly baseMs: Millis;
  readonly perPrefillTokenMs: Millis;
  /**
   * Attention within prompts: a prompt of n tokens of which c are cached takes n² − c² times this
   * beside the time of its tokens.
   */
  readonly perSquaredTokenMs: Millis;
  readonly perSequenceMs: Millis;
  readonly perContextTokenMs: Millis;
  /** Most prompt tokens that are computed in one step (chunked prefill). */
  readonly prefillTokensMax: number;
}

/** The step that an endpoint is in when a prompt comes: the prompt is in none before the next one. */
export interface StepUnderWay {
  /** How long it still takes. */
  readonly restMs: Millis;
  /** Tokens of pending prompts that are computed in it. */
  readonly tokens: number;
  /** How many steps there are from `since` to its end; 0 where none is under way, or none is known. */
  readonly steps: number;
  readonly since: Millis;
}

/** What the picker has learned: demand and speed of endpoints, and lengths of answers. */
export interface EngineModelView {
  /** The prior, until the endpoint has been observed. */
  stepTime(endpoint: Endpoint): StepTime;
  /**
   * Writes the step that the endpoint, where this load is, is in at a time. Left out where nothing is
   * known of it.
   */
  readStep?(
    endpoint: Endpoint,
    load: InFlightLoad,
    at: Millis,
    into: { -readonly [Key in keyof StepUnderWay]: StepUnderWay[Key] },
  ): void;
  /**
   * What was recently sent to the endpoint, with less weight the older it is; where it has several
   * engines, the part of one.
   */
  demand(endpoint: Endpoint): Demand;
  /** Demand times this is demand per millisecond. Work above 1 exceeds what the endpoint can do. */
  demandRate(now: Millis): number;
  /**
   * The same over the time since the first request alone: within the first minute or two, `demandRate`
   * gives less than what comes. As `demandRate` where it is left out.
   */
  demandRateSinceStart?(now: Millis): number;
  /** At most the client's limit. */
  expectedOutputTokens(request: InferenceRequest): number;
}

/** Always provided, by the picker. */
export const ENGINE_MODEL: CycleKey<EngineModelView> = cycleKey('engine-model');

/** How endpoints are assigned to classes of requests. */
export interface AssignmentView {
  /** The class of a request; undefined for none. */
  classOf(request: InferenceRequest): string | undefined;
  /** The class that an endpoint serves; undefined for one that serves all. */
  assigned(endpoint: Endpoint): string | undefined;
}

export const DEFAULT_ASSIGNMENT_PRODUCER = 'assignment-informer';

/** The assignment of the informer with this name. */
export function assignmentKey(
  producer: string = DEFAULT_ASSIGNMENT_PRODUCER,
): CycleKey<AssignmentView> {
  return cycleKey(`assignment/${producer}`);
}

export interface TopologyView {
  placeOf(endpoint: Endpoint): TopologyPlace;
}

export const DEFAULT_TOPOLOGY_PRODUCER = 'topology-extractor';

/** The places of endpoints, from the producer with this name. */
export function topologyKey(producer: string = DEFAULT_TOPOLOGY_PRODUCER): CycleKey<TopologyView> {
  return cycleKey(`topology/${producer}`);
}

/**
 * How many tokens at the beginning of the prompt need not be computed, wherever the request goes:
 * the server has them, or can take them from another one. The fact of the producer with this name.
 */
export function reusableTokensKey(producer: string): CycleKey<number> {
  return cycleKey(`reusable-tokens/${producer}`);
}

/** A text that a plugin reads from each request, such as its session's id; undefined for none. */
export function requestAttributeKey(
  attribute: string,
  producer = '',
): CycleKey<string | undefined> {
  return cycleKey(`request-attribute/${attribute}${producer === '' ? '' : `/${producer}`}`);
}

/** The id of the agent session that a request belongs to. */
export const AGENT_IDENTITY: CycleKey<string | undefined> = requestAttributeKey('agent-identity');

/** The reference's name for the session ids of `session-id-producer`. */
export const SESSION_ID_ATTRIBUTE = 'SessionIDDataKey';
