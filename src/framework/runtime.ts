/** The outside world of the picker: time, random numbers and the network. */

import type { HashSecret } from './values/keyed-hash.ts';

/** Milliseconds, possibly fractional. As a time: monotonic, from an arbitrary origin. */
export type Millis = number;

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Elapsed time. Never goes backwards; not comparable between processes. */
  now(): Millis;
  /** Wall-clock time since the Unix epoch. May jump: for logs and traces only. */
  wallTime(): Millis;
  /**
   * What this thread has computed until now. What other processes took of its time is not in it, so
   * that a busy machine is not taken for costly work. May have steps of some milliseconds; left out
   * where the system does not say.
   */
  readonly cpuTime?: (() => Millis) | undefined;
  /** Calls back once, after `delay`. A real timer does not keep the process alive. */
  setTimer(delay: Millis, callback: () => void): Timer;
}

/** A seeded random generator. `fork` returns an independent one and does not advance this one. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  fork(label: string): Random;
}

export interface HttpResponse {
  readonly status: number;
  /**
   * The whole body. Valid only until the event loop's next turn: other answers may use its memory.
   */
  readonly body: Uint8Array;
}

/** How to reach a server over HTTPS. Files are PEM. Pass the same object for all requests. */
export interface HttpTls {
  /** The authorities to trust; the system's when left out. */
  readonly caPath?: string | undefined;
  /** The certificate of this client, and its key. */
  readonly certPath?: string | undefined;
  readonly keyPath?: string | undefined;
  /** The name that must be in the certificate; the host of the URL when left out. */
  readonly serverName?: string | undefined;
  /** Does not verify the certificate: anyone on the way can read and change what is sent. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface HttpGetOptions {
  /** For `https:` URLs. Without it the certificate is verified with the system's authorities. */
  readonly tls?: HttpTls | undefined;
  readonly timeoutMs: Millis;
  /** The type of the data source that asks, for metrics. */
  readonly sourceType?: string | undefined;
  /** A longer body is rejected (BodyTooLargeError), so that a peer cannot fill the memory. */
  readonly bodyBytesMax: number;
}

/** The answer to a `get` or `post` has more bytes than `bodyBytesMax`. */
export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
}

/** Files with keys for CURVE, which encrypts a ZMQ socket and authenticates its server. */
export interface CurveFiles {
  /** A certificate with both keys; for a socket that listens, the server's. */
  readonly certPath?: string | undefined;
  /** The server's public key, for a socket that connects. */
  readonly serverKeyPath?: string | undefined;
}

export interface MessageSocketOptions {
  /** A subscriber receives published messages; a dealer asks and receives answers. */
  readonly kind: 'subscriber' | 'dealer';
  /** `tcp://host:port`. */
  readonly address: string;
  /** Listens at the address instead of connecting to it. */
  readonly bind?: boolean;
  /** Undefined: neither encrypted nor authenticated. The files are read for each connection. */
  readonly curve?: CurveFiles | undefined;
  /** For a subscriber: the beginning of the first frame. */
  readonly topic?: string;
  /** Called for the first connection and after every reconnection. */
  readonly onConnected?: () => void;
  /** Called for one message. Its frames stay valid. */
  readonly onMessage: (frames: readonly Uint8Array[]) => void;
  /** Called with a sentence when the socket cannot be opened, or a message not be handled. */
  readonly onFailed?: (reason: string) => void;
}

/** A ZMQ socket. It connects again by itself while it is open, and tries again to bind. */
export interface MessageSocket {
  send(frames: readonly Uint8Array[]): void;
  close(): void;
}

export interface CallOptions {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  /** A gRPC method with streams in both directions: `/package.Service/Method`. */
  readonly method: string;
  /** Plaintext when left out. Certificates are verified with the system's CAs or `caPath`. */
  readonly tls?: { readonly caPath?: string | undefined } | undefined;
  /** A longer message ends the call. */
  readonly messageBytesMax: number;
  readonly onMessage: (message: Uint8Array) => void;
  /** Called once, with the reason, after everything else; never while the call is made. */
  readonly onClosed: (reason: string) => void;
}

/** A gRPC call with streams in both directions. */
export interface Call {
  /** Never throws: a failure ends the call. */
  send(message: Uint8Array): void;
  /** Bytes that the peer has not accepted yet. */
  waitingBytes(): number;
  close(): void;
}

/** The addresses of a host name. */
export interface ResolvedName {
  /** IPv4 addresses, or IPv6 addresses where there are no others; without brackets. */
  readonly addresses: readonly string[];
  /** How long the answer holds; undefined where its source does not say. */
  readonly ttlMs: Millis | undefined;
}

export interface Network {
  /** Rejects on a time-out, a failed connection or transfer, or a body over `bodyBytesMax`. */
  get(url: URL, options: HttpGetOptions): Promise<HttpResponse>;
  /** Posts a JSON body; rejects as `get` does. Undefined where posting is not possible. */
  post?(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse>;
  /**
   * Rejects where the name has no address, or no server answers. Undefined without name service.
   */
  resolve?(name: string): Promise<ResolvedName>;
  /** Undefined where ZMQ sockets are not available. */
  openMessages?(options: MessageSocketOptions): MessageSocket;
  /** Undefined where gRPC calls are not available. */
  openCall?(options: CallOptions): Call;
}

/** For those who take no part in a network: every request fails with a sentence that names them. */
export function noNetwork(who: string): Network {
  return { get: () => Promise.reject(new Error(`${who} has no network`)) };
}

export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
  /**
   * Keys the hashes of what clients and engines send. It does not follow from the seed, which
   * captures contain, and no decision depends on it. Undefined where no outsider takes part.
   */
  readonly secret?: HashSecret;
  /**
   * The share of the last second or so in which this thread had something to do, 0 to 1. Undefined
   * where nothing measures it.
   */
  readonly busyShare?: (() => number) | undefined;
}

/** Variables of the environment by name. */
export type Environment = Readonly<Record<string, string | undefined>>;
