import type { ReportedValue } from '../../framework/observer.ts';
import type { ScoredEndpoint } from '../../framework/scheduling.ts';

/** Memory that this answer and those before it are sent from. */
export interface SentMemory {
  /** All of them have been sent: nothing uses the memory any more. */
  free(): void;
  /** Some will not be sent, and may still use the memory: the garbage collector frees it. */
  leave(): void;
}

export interface PickMutation {
  /** `host:port`, comma-separated if there are fallbacks; sent as header and as metadata. */
  readonly destination: string;
  readonly setHeaders: readonly (readonly [name: string, value: string])[];
  readonly removeHeaders: readonly string[];
  /** Sent as metadata: the score of each endpoint by its address. */
  readonly scores?: readonly ScoredEndpoint[] | undefined;
}

export type StreamAction =
  | { readonly kind: 'answer-request-headers'; readonly pick: PickMutation | undefined }
  | {
      readonly kind: 'answer-request-body';
      readonly pick: PickMutation | undefined;
      /** Replaces the chunk; undefined leaves it unchanged. */
      readonly body?: readonly Uint8Array[] | undefined;
      readonly memory?: SentMemory | undefined;
    }
  | {
      readonly kind: 'echo-request-body' | 'echo-response-body';
      /** In order; together at most the chunk size of the protocol. */
      readonly pieces: readonly Uint8Array[];
      readonly endOfStream: boolean;
      /** Dynamic metadata for the proxy, with the last message of an answer. */
      readonly metadata?: readonly ReportedValue[] | undefined;
      readonly memory?: SentMemory | undefined;
    }
  | {
      readonly kind: 'answer-response-headers';
      readonly setHeaders: readonly (readonly [name: string, value: string])[];
      readonly removeHeaders?: readonly string[] | undefined;
    }
  | {
      readonly kind: 'answer-response-body';
      /** Replaces the chunk; undefined leaves it unchanged. */
      readonly body?: readonly Uint8Array[] | undefined;
      readonly metadata?: readonly ReportedValue[] | undefined;
    }
  | { readonly kind: 'answer-request-trailers' }
  | {
      readonly kind: 'answer-response-trailers';
      readonly metadata?: readonly ReportedValue[] | undefined;
    }
  | {
      readonly kind: 'immediate-response';
      readonly status: number;
      /** Where the request is gRPC. */
      readonly grpcStatus?: number | undefined;
      readonly headers: readonly (readonly [name: string, value: string])[];
      readonly body: string;
    }
  | { readonly kind: 'half-close' };
