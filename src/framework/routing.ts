import type { Endpoint, EndpointId, LoadReport } from './endpoint.ts';
import type { RoutingError } from './error.ts';
import type { Outcome, ReportedValue, Usage } from './observer.ts';
import type { InferenceRequest, PromptBlocks } from './request.ts';
import type { Millis } from './runtime.ts';
import type { ScoredEndpoint } from './scheduling.ts';

/** Where another picker has sent a request. Addresses are `host:port`. */
export interface Destination {
  readonly destination: string;
  /** Where the prompt is computed, if elsewhere. */
  readonly prefill?: string | undefined;
}

/**
 * What all requests that wait for one endpoint will bring to it, and how many tokens the prompt of
 * the request that is decided has in common with how many of theirs; left out for none.
 */
export type HeldSum = readonly [
  id: EndpointId,
  requests: number,
  prefillTokens: number,
  contextTokens: number,
  sharedTokens?: number,
  sharedRequests?: number,
];

/** How long a request was held at the picker, by flow control or for room, and for what. */
export interface Waited {
  readonly heldMs: Millis;
  /** The endpoint for which it has waited: the best for it. */
  readonly endpoint: EndpointId | undefined;
  /** Tokens of its prompt that this endpoint is expected to hold. */
  readonly cachedTokens: number;
}

export interface RouteOptions {
  /** The `ip` or `ip:port` that the proxy allows; undefined for all. No match: `no-endpoints`. */
  readonly subset?: readonly string[] | undefined;
  /** Whether the response body will be shown chunk by chunk, so that a first token can be seen. */
  readonly firstTokenVisible?: boolean;
  /** False where the end of the response will not be seen: then the engine model predicts it. */
  readonly endVisible?: boolean;
  /**
   * The request has no body: it goes to any endpoint of the subset, whatever the load. That is no
   * decision: no plugin is asked, nothing is reserved or observed, and it never waits.
   */
  readonly anywhere?: boolean | undefined;
  /** Whether `scored` of the routed request is needed. */
  readonly scoresWanted?: boolean | undefined;
  /** Set by the picker where the request was held. */
  readonly waited?: Waited;
  /** For a decision of a capture: what waited when it was made, as the capture says. */
  readonly heldBefore?: readonly HeldSum[] | undefined;
  /**
   * For a decision of a capture: what `InFlightView.isCrowdedOut` was. Used with `heldBefore` only.
   */
  readonly crowdedOut?: boolean | undefined;
}

/**
 * A routed request and its reservation. The holder must call `done`. Only the first call has an
 * effect, so every way in which a stream can end may call it.
 */
export interface RoutedRequest {
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  /** `host:port` addresses: the primary first, then fallbacks in order. */
  readonly destinations: readonly string[];
  /**
   * With `scoresWanted`: what the picked endpoint was chosen from, by the profile that chose it.
   */
  readonly scored?: readonly ScoredEndpoint[];
  /** Headers to set on the request, such as where to prefill. Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  /** Headers to set on the response, once the serving endpoint is known. Lower-case names. */
  responseHeaders(): ReadonlyMap<string, string>;
  /**
   * What `responseHeaders` would return if the proxy reported this address, or none. Undefined
   * where no plugin adds any.
   */
  readonly responseHeadersFrom?:
    | ((served: string | undefined) => ReadonlyMap<string, string>)
    | undefined;
  /** The response's headers say how busy the server is. */
  loadReported?(report: LoadReport): void;
  /** The server refuses the request as too long, and says how many tokens it takes. */
  windowReported?(tokens: number): void;
  /** The answer is a stream of events, whether the request asks for one or not. Before its body. */
  streams?(): void;
  /** A piece of the response body has arrived. The first one has the first token. */
  firstToken(): void;
  /** Whether any observer needs to know of later pieces of a stream, too. */
  readonly wantsTokens?: boolean;
  /** The proxy reports the address that it used, which may be a fallback. */
  served(address: string): void;
  /** After an early pick the rest of the body has arrived. */
  bodyRead(request: InferenceRequest): void;
  /** Whether any observer needs `answered`. */
  readonly wantsAnswer: boolean;
  /** The prompt with the answer: the next prompt of the conversation begins so. Before `done`. */
  answered(conversation: PromptBlocks): void;
  /** What plugins report at the end of the answer. Undefined where no plugin reports anything. */
  readonly responseMetadata?: ((usage: Usage | undefined) => readonly ReportedValue[]) | undefined;
  /** `status` is that of the response's headers, where they were seen. */
  done(outcome: Outcome, usage?: Usage, responseBytes?: number, status?: number): void;
}

/** What `prepare` may need of the stream of a request. */
export interface PrepareOptions extends Pick<RouteOptions, 'subset'> {
  /** Ends the request with an answer to the client, also after its pick, unless it is over. */
  readonly refuse?: ((error: RoutingError) => void) | undefined;
}

/** Waits for the endpoint of a request. One of the two is called, once, unless it is cancelled. */
export interface Placement {
  placed(routed: RoutedRequest): void;
  /** The request is refused: what `route` would throw. */
  refused(error: unknown): void;
}

/** The decision core as the protocol layers use it. */
export interface Router {
  /**
   * Call before `route`, with the whole body, or with an empty list where it is not available.
   * Returns true when the decision needs something that is not there yet: `ready` is then called
   * once, later. Returns false when nothing has to be waited for. Undefined while no plugin
   * prepares anything. See `RequestPreparation.prepare`.
   */
  readonly prepare?:
    | ((
        request: InferenceRequest,
        body: readonly Uint8Array[],
        ready: () => void,
        options?: PrepareOptions,
      ) => boolean)
    | undefined;
  /** The client of a request that `prepare` keeps waiting is gone: `ready` need not be called. */
  abandon?(request: InferenceRequest): void;
  /** Picks and reserves in one synchronous step. Throws RoutingError. */
  route(request: InferenceRequest, options?: RouteOptions): RoutedRequest;
  /**
   * Does what `route` does where the endpoint can begin the request now. Else it waits: returns
   * undefined, and the placement is called later, never within this call. Undefined where requests
   * never wait.
   */
  readonly enqueue?:
    | ((
        request: InferenceRequest,
        options: RouteOptions,
        placement: Placement,
      ) => RoutedRequest | undefined)
    | undefined;
  /** The client of a request that waits is gone: its placement is not called any more. */
  readonly cancel?: ((placement: Placement) => void) | undefined;
}

/** The decision core while it follows another picker. */
export interface BookingRouter {
  /**
   * Reserves at the destination that another picker chose, and decides nothing. Throws RoutingError
   * `no-endpoints` when the destination is not among the candidates.
   */
  book(request: InferenceRequest, destination: Destination, options?: RouteOptions): RoutedRequest;
}

/** Request header for the sidecar: the `host:port` that computes the prompt. */
export const PREFILL_HEADER = 'x-prefiller-host-port';
/** Request header for the sidecar: servers that encode media, separated by commas. */
export const ENCODE_HEADER = 'x-encoder-hosts-ports';
/** Request header for the sidecar: the `host:port` from which cached blocks can be taken. */
export const KV_SOURCE_HEADER = 'x-kv-cache-source-host-port';
/**
 * Request header of clients: the `host:port` that alone may serve it, where a plugin reads that.
 */
export const PIN_HEADER = 'x-llm-d-pin-host-port';
/**
 * Newer names of these headers by the older ones: some pickers send them, and sidecars read both.
 */
export const NEWER_SERVER_HEADERS: Readonly<Record<string, string>> = {
  [PREFILL_HEADER]: 'x-llm-d-prefiller-host-port',
  [ENCODE_HEADER]: 'x-llm-d-encoder-hosts-ports',
  [KV_SOURCE_HEADER]: 'x-llm-d-kv-cache-source-host-port',
};

/** The requests of the highest priority among those that wait for flow control. */
export interface FirstBand {
  readonly priority: number;
  readonly requests: number;
}
