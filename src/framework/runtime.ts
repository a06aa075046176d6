/** Everything the picker knows of the outside world: time, chance, and wires. */

/** Monotonic milliseconds, fractional, from an arbitrary origin. */
export type Millis = number;

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Elapsed time. Never goes backwards; meaningless across processes. */
  now(): Millis;
  /** Wall-clock time since the Unix epoch. May jump; for logs and traces only. */
  wallTime(): Millis;
  /** Calls back once, never before `delay` has passed. A real timer does not keep the process alive. */
  setTimer(delay: Millis, callback: () => void): Timer;
}

/** A seeded stream of chance. `fork` gives a consumer a stream of its own and does not advance its parent. */
export interface Random {
  /** A float in [0, 1). */
  next(): number;
  fork(label: string): Random;
}

export interface HttpResponse {
  readonly status: number;
  /** The whole body. Only valid until the next `get`: the network may reuse the memory. */
  readonly body: Uint8Array;
}

export interface HttpGetOptions {
  readonly timeoutMs: Millis;
  /** A longer body is refused, so that a wild peer cannot fill memory. */
  readonly bodyBytesMax: number;
}

export interface MessageSocketOptions {
  /** A subscriber hears what is published; a dealer asks and hears the answers. */
  readonly kind: 'subscriber' | 'dealer';
  /** `tcp://host:port`. */
  readonly address: string;
  /** Waits there for others to connect, rather than connecting. */
  readonly bind?: boolean;
  /** How the first frame must begin, for a subscriber. */
  readonly topic?: string;
  /** A connection was made, the first or one after a break. */
  readonly onConnected?: () => void;
  /** One message. Its frames stay valid. */
  readonly onMessage: (frames: readonly Uint8Array[]) => void;
}

/** A ZMQ socket: connects again by itself for as long as it is open, and says nothing of failing to. */
export interface MessageSocket {
  send(frames: readonly Uint8Array[]): void;
  close(): void;
}

export interface CallOptions {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  /** A gRPC method with a stream each way: `/package.Service/Method`. */
  readonly method: string;
  /** Plaintext when left out; certificates are verified with the system's authorities, or with those in the file. */
  readonly tls?: { readonly caPath?: string | undefined } | undefined;
  /** A longer message ends the call. */
  readonly messageBytesMax: number;
  readonly onMessage: (message: Uint8Array) => void;
  /** Once, with why; nothing comes after it. */
  readonly onClosed: (reason: string) => void;
}

/** A gRPC call with a stream each way. */
export interface Call {
  /** Never throws; what cannot be sent ends the call. */
  send(message: Uint8Array): void;
  /** Bytes that the peer has not taken yet. */
  waitingBytes(): number;
  close(): void;
}

export interface Network {
  /** Rejects on time-out, refused connection, broken transfer or a body over `bodyBytesMax`. */
  get(url: URL, options: HttpGetOptions): Promise<HttpResponse>;
  /** The same with a JSON body. Undefined where nobody can be asked. */
  post?(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse>;
  /** Undefined where there are no such sockets. */
  openMessages?(options: MessageSocketOptions): MessageSocket;
  /** Undefined where nobody can be called. */
  openCall?(options: CallOptions): Call;
}

export interface Runtime {
  readonly clock: Clock;
  readonly random: Random;
  readonly network: Network;
}
