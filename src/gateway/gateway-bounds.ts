import type { Millis } from '../framework/runtime.ts';

/** What one request may take. A time of 0 is no limit. */
export interface GatewayBounds {
  /** More requests at once are refused with 503. */
  readonly requestsMax: number;
  /** From the first to the last byte of a request body. */
  readonly uploadTimeoutMs: Millis;
  /** Without progress of an upload, or of a client that reads its answer. */
  readonly clientIdleTimeoutMs: Millis;
  /** For the picker to answer while the request cannot go on without it. */
  readonly pickerTimeoutMs: Millis;
  /** For a connection to the picked endpoint. */
  readonly connectTimeoutMs: Millis;
  /** From the request to the picked endpoint to the headers of its answer. */
  readonly firstByteTimeoutMs: Millis;
  /** Between two pieces of its answer. */
  readonly idleTimeoutMs: Millis;
  /** The longest body that is kept for another endpoint until the first one answers. */
  readonly retryBodyBytes: number;
}

export const GATEWAY_BOUNDS: GatewayBounds = {
  requestsMax: 4096,
  uploadTimeoutMs: 300_000,
  clientIdleTimeoutMs: 60_000,
  pickerTimeoutMs: 60_000,
  connectTimeoutMs: 2_000,
  // An answer that is not streamed has its headers at the end of the generation.
  firstByteTimeoutMs: 3_600_000,
  idleTimeoutMs: 300_000,
  // A prompt of 250,000 tokens.
  retryBodyBytes: 1024 * 1024,
};

/** What all requests together keep for other endpoints. */
export const KEPT_BYTES_MAX: number = 256 * 1024 * 1024;
