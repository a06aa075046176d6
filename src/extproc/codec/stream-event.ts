import type { HeaderBlock } from './header-block.ts';

/** Envoy's numbers of the modes in which the filter sends a body. */
export const BODY_MODE = {
  none: 0,
  streamed: 1,
  buffered: 2,
  bufferedPartial: 3,
  fullDuplex: 4,
} as const;

/** The filter's configuration, sent in its first message. */
export interface ProtocolConfig {
  readonly requestBodyMode: number;
  readonly responseBodyMode: number;
  /** The body is sent without waiting for the answer to the headers. */
  readonly sendsBodyWithoutWaiting: boolean;
}

/** What holds for a filter that sends no configuration. */
export const DEFAULT_PROTOCOL: ProtocolConfig = {
  requestBodyMode: BODY_MODE.fullDuplex,
  responseBodyMode: BODY_MODE.fullDuplex,
  sendsBodyWithoutWaiting: false,
};

/** The dynamic metadata that a picker reads. */
export interface LoadBalancerMetadata {
  /** Endpoints the proxy allows; undefined allows all. */
  readonly subset: readonly string[] | undefined;
  /** The endpoint that served the request. */
  readonly served: string | undefined;
  /** An earlier picker's choice: `host:port`, comma-separated if there are fallbacks. */
  readonly destination?: string | undefined;
}

interface EventCommon {
  readonly metadata: LoadBalancerMetadata | undefined;
  /** The proxy does not wait for an answer (`observability_mode`). */
  readonly observing: boolean;
  readonly protocol: ProtocolConfig | undefined;
  /** Size of the message, with its frame. */
  readonly wireBytes: number;
}

export type StreamEvent = EventCommon &
  (
    | {
        readonly kind: 'request-headers' | 'response-headers';
        readonly headers: HeaderBlock;
        readonly endOfStream: boolean;
      }
    | {
        readonly kind: 'request-body' | 'response-body';
        readonly chunk: Buffer;
        readonly endOfStream: boolean;
      }
    | { readonly kind: 'response-trailers'; readonly headers: HeaderBlock }
    | { readonly kind: 'request-trailers' | 'unknown' }
  );

export type CloseReason = 'ended' | 'cancelled' | 'failed';
