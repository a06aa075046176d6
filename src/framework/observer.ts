import type { Endpoint } from './endpoint.ts';
import type { InFlightLoad } from './keys.ts';
import type { InferenceRequest, PromptBlocks } from './request.ts';
import type { Millis } from './runtime.ts';

/** One request that has left for an endpoint. The same object in every call about one request. */
export interface Routed {
  /** Counts the picker's decisions from 0. */
  readonly number: number;
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill?: Endpoint | undefined;
  readonly at: Millis;
  /** Prompt tokens the endpoint was thought to hold already when the pick was made. */
  readonly cachedTokens: number;
  /** What was in flight at the endpoint when the pick was made, this request left out. */
  readonly load: InFlightLoad;
  /** Whether a first-token signal will come for this request (a response body we are shown chunk by chunk). */
  readonly firstTokenSeen: boolean;
}

export type Outcome = 'completed' | 'aborted' | 'failed';

/** Token counts as the model server reported them. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number | undefined;
}

/**
 * Hears what became of requests: the only way a plugin learns, and never during a cycle.
 * For each request: `onRouted` once, `onFirstToken` and `onAnswered` at most once, `onDone` exactly once and last.
 */
export interface RequestObserver {
  onRouted?(routed: Routed): void;
  /** After a pick made before the whole body was read: `request` is now complete. Before any `onDone`. */
  onBodyRead?(routed: Routed, request: InferenceRequest): void;
  onFirstToken?(routed: Routed, at: Millis): void;
  /**
   * The blocks of prompt and answer, where the answer was seen and fills one at least: what the next turn of a chat
   * begins with, and its endpoint has computed.
   */
  onAnswered?(routed: Routed, conversation: PromptBlocks): void;
  /** `responseBytes` of the body, where it was seen. */
  onDone?(
    routed: Routed,
    at: Millis,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
  ): void;
}

/** Hears which endpoints come and go, so that what is kept per endpoint can be dropped with it. */
export interface EndpointObserver {
  onEndpointAdded?(endpoint: Endpoint): void;
  onEndpointRemoved?(endpoint: Endpoint): void;
  /** The same endpoint with a new sample or attribute. */
  onEndpointChanged?(endpoint: Endpoint, previous: Endpoint): void;
}
