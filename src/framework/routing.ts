import type { Endpoint } from './endpoint.ts';
import type { Outcome, Usage } from './observer.ts';
import type { InferenceRequest, PromptBlocks } from './request.ts';

/** Where another picker has sent a request, by addresses, `host:port` each. */
export interface Destination {
  readonly destination: string;
  /** Where the prompt is computed, if elsewhere. */
  readonly prefill?: string | undefined;
}

export interface RouteOptions {
  /** `ip` or `ip:port` strings the proxy allows; undefined allows all. Empty or unmatched: `no-endpoints`. */
  readonly subset?: readonly string[] | undefined;
  /** Whether the response body will be shown chunk by chunk, so that a first token can be seen. */
  readonly firstTokenSeen?: boolean;
  /** False where nobody sees the response end: `completed` is then taken to come when the model says it should. */
  readonly endSeen?: boolean;
}

/**
 * A routed request and its reservation. The holder must call `done`; every call after the first has no effect, so that each
 * way in which a stream can end may call it.
 */
export interface RoutedRequest {
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  /** `host:port` each, the primary first, then fallbacks in order. */
  readonly destinations: readonly string[];
  /** To set on the request, such as where to prefill. Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** To set on the response, once it is known which endpoint serves. Lower-case names. */
  responseHeaders(): ReadonlyMap<string, string>;
  /** The first piece of the response body is there. */
  firstToken(): void;
  /** The address that the proxy reports to have used, which may be a fallback. */
  served(address: string): void;
  /** The rest of the body came after an early pick. */
  bodyRead(request: InferenceRequest): void;
  /** Whether any observer learns from answers; `answered` is of no use otherwise. */
  readonly wantsAnswer: boolean;
  /** The prompt with the answer behind it, as the conversation's next prompt begins. Before `done`. */
  answered(conversation: PromptBlocks): void;
  done(outcome: Outcome, usage?: Usage, responseBytes?: number): void;
}

/** The decision core as the protocol layers use it. Synchronous. */
export interface Router {
  /**
   * Call before `route`, with the whole body, or nothing where it is not at hand. Returns true when the decision needs
   * something that is not there yet; `ready` is then called once, later. Returns false when nothing has to be waited for.
   * Undefined while no plugin ever waits. As `DataSource.prepare`.
   */
  readonly prepare?:
    | ((
        request: InferenceRequest,
        body: readonly Uint8Array[],
        ready: () => void,
        options?: Pick<RouteOptions, 'subset'>,
      ) => boolean)
    | undefined;
  /** Picks and reserves in one step. Throws RoutingError. */
  route(request: InferenceRequest, options?: RouteOptions): RoutedRequest;
}

/** The decision core beside another picker. */
export interface BookingRouter {
  /**
   * Reserves where another picker has sent the request, and decides nothing. Throws RoutingError `no-endpoints` when the
   * destination is not among the candidates.
   */
  book(request: InferenceRequest, destination: Destination, options?: RouteOptions): RoutedRequest;
}

/** Where to have the prompt computed first, `host:port`, as the routing sidecar reads it. */
export const PREFILL_HEADER = 'x-prefiller-host-port';
/** Where to have images and the like encoded, comma-separated. */
export const ENCODE_HEADER = 'x-encoder-hosts-ports';
