import type { HeaderBlock } from './header-block.ts';

/** How the filter sends a body, as Envoy numbers it. */
export const BODY_MODE = {
  none: 0,
  streamed: 1,
  buffered: 2,
  bufferedPartial: 3,
  fullDuplex: 4,
} as const;

/** What the filter says of itself in its first message. */
export interface ProtocolConfig {
  readonly requestBodyMode: number;
  readonly responseBodyMode: number;
  /** The body comes whether or not the headers have been answered. */
  readonly sendsBodyWithoutWaiting: boolean;
}

/** The dynamic metadata that concerns a picker. */
export interface LoadBalancerMetadata {
  /** Endpoints the proxy allows; undefined allows all. */
  readonly subset: readonly string[] | undefined;
  /** The endpoint that really served the request. */
  readonly served: string | undefined;
  /** Where a picker before us has sent the request: `host:port`, comma-separated when there are fallbacks. */
  readonly destination?: string | undefined;
}

interface EventCommon {
  readonly metadata: LoadBalancerMetadata | undefined;
  /** Nobody waits for an answer. */
  readonly observing: boolean;
  readonly protocol: ProtocolConfig | undefined;
}

/** What Envoy says on one stream, free of protobuf. */
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
    | { readonly kind: 'request-trailers' | 'response-trailers' | 'unknown' }
  );

/** How a stream can end. */
export type CloseReason = 'ended' | 'cancelled' | 'failed';
