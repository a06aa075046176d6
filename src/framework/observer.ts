import type { InFlightLoad } from './cycle-facts.ts';
import type { Endpoint } from './endpoint.ts';
import type { InferenceRequest, PromptBlocks } from './request.ts';
import type { Millis } from './runtime.ts';
import type { Decision } from './scheduling.ts';

/** One request that was sent to an endpoint. All calls about one request get the same object. */
export interface Routed {
  /** Counts the picker's decisions from 0. */
  readonly number: number;
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill?: Endpoint | undefined;
  readonly at: Millis;
  /**
   * How long flow control has held it, or how long it has waited for room at its endpoint; left out
   * for not at all. The time that was spent to prepare it is not included.
   */
  readonly heldMs?: Millis | undefined;
  /** Prompt tokens that the endpoint was expected to hold when the pick was made. */
  readonly cachedTokens: number;
  /** Prompt tokens that `prefill` was expected to hold when the pick was made. */
  readonly prefillCachedTokens?: number | undefined;
  /** Counted for its answer until its end, where the configuration asks for it. */
  readonly estimatedOutputTokens?: number | undefined;
  /** What was in flight at the endpoint when the pick was made, without this request. */
  readonly load: InFlightLoad;
  /** What was in flight at `prefill` then, without this request, as this picker has counted it. */
  readonly prefillLoad?: InFlightLoad | undefined;
  /** What the engine model expected at the pick, where the picker itself decided. */
  readonly expectedTtftMs?: Millis | undefined;
  readonly expectedTpotMs?: Millis | undefined;
  /** Whether the first token will be seen: the response body is shown chunk by chunk. */
  readonly firstTokenVisible: boolean;
}

/** Prompt tokens that were to be computed, where the prompt is, when the pick was made. */
export function tokensToCompute({
  request,
  cachedTokens,
  prefill,
  prefillCachedTokens = 0,
}: Pick<Routed, 'request' | 'cachedTokens' | 'prefill' | 'prefillCachedTokens'>): number {
  const held = prefill === undefined ? cachedTokens : prefillCachedTokens;
  return Math.max(0, request.promptTokens - held);
}

/**
 * How a request can end. Replicas send the place in this list: a new one comes last, and older
 * replicas refuse the messages that have it.
 */
export const OUTCOMES = ['completed', 'aborted', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Token counts as the model server reports them. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number | undefined;
  /**
   * True where servers with such a usage leave the count of cached tokens out when it is 0.
   * Observers need not look at it: what they get has the 0.
   */
  readonly leavesOutZero?: true | undefined;
}

/**
 * Observes what becomes of requests, never during a cycle. It is the only way in which a plugin
 * learns. For each request `onRouted` is called once, `onFirstToken` and `onAnswered` at most once,
 * and `onDone` exactly once and last. What an observer throws is counted and logged, and has no
 * effect on the request.
 */
export interface RequestObserver {
  onRouted?(routed: Routed): void;
  /** After an early pick: the body is read and `request` is complete. Before any `onDone`. */
  onBodyRead?(routed: Routed, request: InferenceRequest): void;
  onFirstToken?(routed: Routed, at: Millis): void;
  /**
   * The blocks of prompt and answer, where the answer was seen and fills at least one block. The
   * next turn of the chat begins with them, and the endpoint has computed them.
   */
  onAnswered?(routed: Routed, conversation: PromptBlocks): void;
  /** `responseBytes` is the size of the response body, where it was seen. */
  onDone?(
    routed: Routed,
    at: Millis,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
  ): void;
}

/** Observes changes of the pool, so that state per endpoint can be dropped. */
export interface EndpointObserver {
  onEndpointAdded?(endpoint: Endpoint): void;
  onEndpointRemoved?(endpoint: Endpoint): void;
  /** The same endpoint with a new sample, attribute or label. */
  onEndpointChanged?(endpoint: Endpoint, previous: Endpoint): void;
}

/** A plugin that can give another replica of the picker what it knows of prompts. */
export interface PrefixSharing {
  /** The number of blocks that the endpoint is expected to hold. */
  size(endpoint: Endpoint): number;
  /** Its most recently used blocks, newest first, as two words each that `addOlderBlocks` reads. */
  heldBlocks(endpoint: Endpoint, blocksMax: number): Uint32Array;
  /** Adds such blocks as older than all that is known of the endpoint, as far as there is room. */
  addOlderBlocks(endpoint: Endpoint, words: Uint32Array): void;
}

/** Adds headers to the response of a request, such as a session's token. */
export interface ResponseHeaderPlugin {
  /**
   * `served` is the endpoint that answers, which may be a fallback. `reported` is the address that
   * the proxy says it used, undefined where it says nothing. Names are in lower case.
   */
  responseHeaders?(
    served: Endpoint,
    result: Decision,
    reported: string | undefined,
  ): Iterable<readonly [name: string, value: string]>;
}

/** A number for the proxy's dynamic metadata, such as what an answer costs. */
export interface ReportedValue {
  readonly namespace: string;
  readonly name: string;
  readonly value: number;
}

/** Reports numbers about an answer to the proxy, such as to its rate limiter. */
export interface ResponseReporter {
  /** Called at the end of an answer. Without a reported usage all its counts are 0. */
  responseMetadata?(usage: Usage): Iterable<ReportedValue>;
}

/** Says what a plugin has learned, for people who look into a running picker. */
export interface StateReporter {
  /** Values for JSON, without texts of clients; long lists may be cut where they are shown. */
  describeState?(): Readonly<Record<string, unknown>>;
}

/** A plugin learns only through these calls: nothing else may change its state. */
export type Observer = RequestObserver &
  EndpointObserver &
  ResponseHeaderPlugin &
  ResponseReporter &
  StateReporter;
