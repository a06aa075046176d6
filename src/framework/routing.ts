import type { Endpoint } from './endpoint.ts';
import type { Outcome, Usage } from './observer.ts';
import type { InferenceRequest, PromptBlocks } from './request.ts';
import type { ForeignDecision } from './scheduling.ts';

export interface RouteOptions {
  /** `ip` or `ip:port` strings the proxy allows; undefined allows all. Empty or unmatched: `no-endpoints`. */
  readonly subset?: readonly string[] | undefined;
  /** Whether the response body will be shown chunk by chunk, so that a first token can be seen. */
  readonly firstTokenSeen?: boolean;
  /** False where nobody sees the response end: `completed` is then taken to come when the model says it should. */
  readonly endSeen?: boolean;
  /** Nothing is decided then, only booked where it says. A destination that is not among the candidates: `no-endpoints`. */
  readonly decided?: ForeignDecision | undefined;
}

/**
 * A decision and the reservation it made. Whoever holds it must end it with `done`, exactly once in effect:
 * every call after the first is ignored, so that each way a stream can end may simply say so.
 */
export interface RoutedRequest {
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  /** `host:port`, the primary first, then fallbacks in order. */
  readonly destinations: readonly string[];
  /** To set on the request, such as where to prefill. Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** To set on the response, once it is known who serves. Lower-case names. */
  responseHeaders(): ReadonlyMap<string, string>;
  firstToken(): void;
  /** The address the proxy says it really used, which may be a fallback. */
  served(address: string): void;
  /** The rest of the body came after an early pick. */
  bodyRead(request: InferenceRequest): void;
  /** Whether anybody learns from what was answered. */
  readonly hearsAnswer: boolean;
  /** What was generated behind the prompt, with the prompt, as the conversation's next prompt begins. Before `done`. */
  answered(conversation: PromptBlocks): void;
  done(outcome: Outcome, usage?: Usage, responseBytes?: number): void;
}

/** The decision core as the protocol layers see it. Synchronous. */
export interface Router {
  /**
   * Before `route`; `body` is the whole of it, or nothing where it is not at hand. True when something is being got ready
   * that the pick is better with, and `ready` will be called, once and later. False when nothing is waited for. As
   * `DataSource.prepare`.
   */
  prepare?(
    request: InferenceRequest,
    body: readonly Uint8Array[],
    ready: () => void,
    options?: Pick<RouteOptions, 'subset'>,
  ): boolean;
  /** Picks and reserves in one step. Throws RoutingError. */
  route(request: InferenceRequest, options?: RouteOptions): RoutedRequest;
}
