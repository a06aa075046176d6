/** What a pick changes about the request. */
export interface PickMutation {
  /** `host:port`, comma-separated when there are fallbacks: header and dynamic metadata alike. */
  readonly destination: string;
  readonly setHeaders: readonly (readonly [name: string, value: string])[];
  readonly removeHeaders: readonly string[];
}

/** What we say back. */
export type StreamAction =
  | { readonly kind: 'answer-request-headers'; readonly pick: PickMutation | undefined }
  | {
      readonly kind: 'answer-request-body';
      readonly pick: PickMutation | undefined;
      /** What the chunk is replaced by; undefined leaves it as it is. */
      readonly body?: readonly Uint8Array[] | undefined;
    }
  | {
      readonly kind: 'echo-request-body' | 'echo-response-body';
      /** In order; together at most the protocol's chunk size. */
      readonly pieces: readonly Uint8Array[];
      readonly endOfStream: boolean;
    }
  | {
      readonly kind: 'answer-response-headers';
      readonly setHeaders: readonly (readonly [name: string, value: string])[];
      readonly removeHeaders?: readonly string[] | undefined;
    }
  | {
      readonly kind: 'answer-response-body';
      /** What the chunk is replaced by; undefined leaves it as it is. */
      readonly body?: readonly Uint8Array[] | undefined;
    }
  | { readonly kind: 'answer-request-trailers' | 'answer-response-trailers' }
  | {
      readonly kind: 'reject';
      readonly status: number;
      readonly headers: readonly (readonly [name: string, value: string])[];
      readonly body: string;
    }
  | { readonly kind: 'half-close' };
