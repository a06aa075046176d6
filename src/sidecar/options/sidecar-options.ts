import type { IncomingHttpHeaders } from 'node:http';
import type { SecureContextOptions } from 'node:tls';
import type { Registry } from 'prom-client';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { MoriIoOptions } from '../contracts/mori-io.ts';
import type { AllowedServers } from './allowed-servers.ts';

/** Where a request can be when something happens. */
export const LEG_STAGES = ['encode', 'prefill', 'decode'] as const;
export type LegStage = (typeof LEG_STAGES)[number];

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
  /** From the first request to an encoder to the end of the last encoder's answer. */
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

/** How engines pass KV to each other. */
export const KV_CONNECTORS = [
  'nixlv2',
  'shared-storage',
  'sglang',
  'mooncake',
  'offloading',
  'atom',
] as const;
export type KvConnector = (typeof KV_CONNECTORS)[number];
/**
 * How encoders pass embeddings on: `auto` does what their answers say, `ec-example` takes them to
 * share a storage, `none` leaves all media to the engines.
 */
export const EC_CONNECTORS = ['auto', 'ec-nixl', 'ec-example', 'none'] as const;
export type EcConnector = (typeof EC_CONNECTORS)[number];

export interface EarlierTurnsOptions {
  /** How many turns are kept; beyond it the oldest is forgotten. */
  readonly turnsMax: number;
  /** How long: as long as engines hold the blocks of an answer. */
  readonly keepMs: Millis;
}

/** The two legs of a request. */
export interface KvOptions {
  readonly connector: KvConnector;
  readonly ecConnector: EcConnector;
  /** Whether engines under NIXL can take cached blocks from peers, too. */
  readonly p2pPull: boolean;
  /** Where engines give blocks to peers: the port of the first data-parallel rank. */
  readonly p2pPort: number;
  /** Port of SGLang's bootstrap server on prefilling servers. */
  readonly sglangBootstrapPort: number;
  /** Port of Mooncake's bootstrap server on prefilling servers. */
  readonly mooncakeBootstrapPort: number;
  /** Data-parallel ranks of ATOM engines. */
  readonly atomRanks: number;
  /** Undefined: NIXL reads KV, and does not write it. */
  readonly moriIo: MoriIoOptions | undefined;
  /** Undefined: engines under NIXL do not hold the KV of their answers for the next turn. */
  readonly earlierTurns: EarlierTurnsOptions | undefined;
}

export interface PrefillOptions {
  /** Whether one of several servers that a request names is drawn; else the first is taken. */
  readonly samplePrefillers: boolean;
  /** How often a server that may recover is asked again, and how long after its answer. */
  readonly prefillRetries: number;
  readonly prefillRetryBackoffMs: Millis;
  /** Whether clients can have a conversation computed after an answer, ahead of its next turn. */
  readonly speculativePrefill: boolean;
}

/** The servers that a sidecar sends requests to. */
export const UPSTREAM_ROLES = ['prefiller', 'decoder', 'encoder'] as const;
export type UpstreamRole = (typeof UPSTREAM_ROLES)[number];

export interface UpstreamTls {
  /** Roles that are reached over TLS; the others in plaintext. */
  readonly roles: readonly UpstreamRole[];
  /** Roles whose certificates are not verified. */
  readonly unverified: readonly UpstreamRole[];
  /** PEM of the CAs to trust instead of the well-known ones, as it is at the moment. */
  readonly ca?: (() => string) | undefined;
}

/** TLS of the port itself. */
export interface ServingTls {
  /** As it is at the moment. */
  readonly context: () => SecureContextOptions;
  /** Calls `use` with each valid change, which counts for connections from then on. */
  follow(use: (context: SecureContextOptions) => void): { stop(): Promise<void> };
  /** Why the present files are refused; undefined where they are in use. */
  readonly lastError: () => string | undefined;
  /** Why clients that verify the certificate refuse it now; undefined while it is valid. */
  readonly invalidity: () => string | undefined;
}

export type HealthAnswerer = 'sidecar' | 'engine';
export const HEALTH_ANSWERERS: readonly HealthAnswerer[] = ['sidecar', 'engine'];

export interface SidecarOptions extends KvOptions, PrefillOptions {
  readonly host: string;
  /** The port of the first data-parallel rank, each next has the next; 0 selects free ones. */
  readonly port: number;
  /** The decoding server's first data-parallel rank, `host:port`; each next has the next port. */
  readonly engine: string;
  /** Ranks of the decoding server: so many ports are served, one for each rank. */
  readonly dataParallelSize: number;
  /** The most tokens that the engine decodes at once in a chat; 0 is no bound. */
  readonly decodeChunkTokens: number;
  /** What answers `/health`. The sidecar itself says only that it serves. */
  readonly health: HealthAnswerer;
  /** This pod's address, as other pods reach it. */
  readonly podIp: string | undefined;
  /** Undefined: no traces are written, and trace headers go on as they are. */
  readonly tracing?: LegTracing | undefined;
  /** Undefined: the port has no TLS. */
  readonly serving?: ServingTls | undefined;
  /** The prefilling servers that a request may name. */
  readonly prefillers: AllowedServers;
  /** The encoders that a request may name. */
  readonly encoders: AllowedServers;
  readonly bounds?: Partial<SidecarBounds> | undefined;
  readonly tls?: UpstreamTls | undefined;
  /** Where its metrics are shown; default: on a page of their own. */
  readonly registry?: Registry | undefined;
  readonly clock: Clock;
  readonly log: (line: string) => void;
}

/** The values of options that an operator does not set. */
export const SIDECAR_DEFAULTS: Omit<
  SidecarOptions,
  'host' | 'port' | 'engine' | 'prefillers' | 'encoders' | 'clock' | 'log'
> = {
  connector: 'nixlv2',
  ecConnector: 'auto',
  p2pPull: false,
  p2pPort: 7777,
  sglangBootstrapPort: 8998,
  mooncakeBootstrapPort: 8998,
  atomRanks: 1,
  moriIo: undefined,
  earlierTurns: undefined,
  samplePrefillers: false,
  prefillRetries: 0,
  prefillRetryBackoffMs: 200,
  speculativePrefill: false,
  decodeChunkTokens: 0,
  dataParallelSize: 1,
  health: 'engine',
  podIp: undefined,
};

/**
 * Where traces of requests and of their legs go; the sidecar does not know how they are written.
 */
export interface LegTracing {
  /** Begins the trace of a request: it belongs to the trace that its headers name, if any. */
  begin(headers: IncomingHttpHeaders): RequestTracing;
}

export type TraceAttributes = Readonly<Record<string, string | number | boolean>>;

export interface RequestTracing {
  /** Begins the span of a request to another server. */
  leg(stage: LegStage, attributes: TraceAttributes): LegSpan;
  /** Writes all spans. `failure` says why the request failed. */
  end(attributes: TraceAttributes, failure?: string): void;
}

export interface LegSpan {
  /** Headers for the server, so that its own spans belong to this leg. */
  readonly headers: Readonly<Record<string, string>>;
  end(attributes: TraceAttributes, failure?: string): void;
}
