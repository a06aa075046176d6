import type { RoutingError } from './error.ts';
import type { InferenceRequest } from './request.ts';

/** What is known of a request when its headers have come. */
export interface FollowedHead {
  /** Made by the picker, unique in the process. */
  readonly id: string;
  /** By lower-case name, the last value each. */
  readonly headers: ReadonlyMap<string, string>;
}

/**
 * Follows one request from its headers to the end of its stream, for traces and the access log.
 * Decides nothing, and none of its methods throws.
 */
export interface FollowedRequest {
  /** W3C `traceparent` for the model server; undefined where the client's is passed on. */
  readonly traceparent: string | undefined;
  /** Undefined where the trace of this request is not written. */
  readonly traceId: string | undefined;
  /** The body is read as far as the decision needs it. */
  bodyRead(request: InferenceRequest): void;
  /** The picker answers in place of a model server. */
  refused(error: RoutingError): void;
  /** The stream is over. `status` is that of the model server's response, where there was one. */
  closed(status: number | undefined): void;
}

/** `parent` is the `traceparent` of the proxy's own call to the picker, where it traces. */
export type FollowRequest = (head: FollowedHead, parent: string | undefined) => FollowedRequest;
