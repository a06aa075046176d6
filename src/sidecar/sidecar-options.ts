import type { Clock, Millis } from '../framework/runtime.ts';
import type { AllowedServers } from './allowed-servers.ts';

/** What one request, one client or another server may take. A time of 0 is no limit. */
export interface SidecarBounds {
  /** A longer request body is refused with 413. */
  readonly bodyBytesMax: number;
  /** The bodies of all open requests; beyond it requests are refused with 503. */
  readonly bufferedBytesMax: number;
  /** More requests at once are refused with 503. */
  readonly requestsMax: number;
  /** From the first to the last byte of a request body. */
  readonly uploadTimeoutMs: Millis;
  /** Without progress of an upload, or of a client that reads its answer. */
  readonly clientIdleTimeoutMs: Millis;
  /** For a connection to another server, with its TLS handshake. */
  readonly connectTimeoutMs: Millis;
  /** From the request to a prefilling server to the end of its answer. */
  readonly prefillTimeoutMs: Millis;
  /** The same for all encoders of a request together. */
  readonly encodeTimeoutMs: Millis;
  /** From the request to the engine to the headers of its answer. */
  readonly firstByteTimeoutMs: Millis;
  /** Between two pieces of the engine's answer. */
  readonly idleTimeoutMs: Millis;
}

export const SIDECAR_BOUNDS: SidecarBounds = {
  // Many times the size of a prompt of a million tokens.
  bodyBytesMax: 64 * 1024 * 1024,
  bufferedBytesMax: 256 * 1024 * 1024,
  requestsMax: 4096,
  uploadTimeoutMs: 300_000,
  clientIdleTimeoutMs: 60_000,
  connectTimeoutMs: 2_000,
  prefillTimeoutMs: 60_000,
  encodeTimeoutMs: 60_000,
  // An answer that is not streamed has its headers at the end of the generation.
  firstByteTimeoutMs: 3_600_000,
  idleTimeoutMs: 300_000,
};

/** The servers that a sidecar sends requests to. */
export type UpstreamRole = 'prefiller' | 'decoder' | 'encoder';

export interface UpstreamTls {
  /** Roles that are reached over TLS; the others in plaintext. */
  readonly roles: readonly UpstreamRole[];
  /** Roles whose certificates are not verified. */
  readonly unverified: readonly UpstreamRole[];
  /** PEM of the CAs to trust instead of the well-known ones. */
  readonly ca?: string | undefined;
}

export interface SidecarOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The decoding server, `host:port`. */
  readonly engine: string;
  /** The prefilling servers that a request may name. */
  readonly prefillers: AllowedServers;
  /** The encoders that a request may name. */
  readonly encoders: AllowedServers;
  readonly bounds?: Partial<SidecarBounds> | undefined;
  readonly tls?: UpstreamTls | undefined;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}
