import { performance } from 'node:perf_hooks';
import type {
  Call,
  CallOptions,
  HttpGetOptions,
  HttpResponse,
  HttpTls,
  MessageSocket,
  MessageSocketOptions,
  Millis,
  Network,
  ResolvedName,
} from '../../framework/runtime.ts';
import { GrpcCall } from './client/grpc-call.ts';
import { HttpOrigin } from './client/http-origin.ts';
import { OutgoingFiles, type WarnOfFile } from './client/outgoing-files.ts';
import { NameResolver } from './name-resolver.ts';
import { openZmqSocket } from './zmq/zmq-socket.ts';

/** An origin unused for this long has left the pool: its connection and memory are released. */
const IDLE_MS = 30_000;

/** Connections for POST requests to one origin, so that a long one does not delay short ones. */
const POST_CONNECTIONS = 4;

export interface NodeNetwork extends Network {
  post(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse>;
  openMessages(options: MessageSocketOptions): MessageSocket;
  openCall(options: CallOptions): Call;
  resolve(name: string): Promise<ResolvedName>;
  /** Authorities, certificates and keys in files, which connections by TLS use. */
  readonly tlsFiles: Pick<OutgoingFiles, 'counts' | 'refused' | 'refusedElsewhere'>;
  /** Aborts everything under way. A later `get` or `post` rejects. */
  close(): Promise<void>;
}

interface NodeNetworkOptions {
  /** How long an origin's connection is kept after its last use. Default: 30 s. */
  readonly idleMs?: Millis;
  /** `address:port` of DNS servers; those of the machine where left out. */
  readonly dnsServers?: readonly string[];
  /** Called for a file of TLS that cannot be used any more. Default: a warning of the process. */
  readonly warnOfFile?: WarnOfFile | undefined;
}

/**
 * HTTP without streams, over one kept-alive connection for each origin, GET requests one after
 * another. Certificates are verified unless a request says otherwise.
 */
export function createNodeNetwork(options: NodeNetworkOptions = {}): NodeNetwork {
  const files = new OutgoingFiles({ warn: options.warnOfFile });
  const origins = new Origins(options.idleMs ?? IDLE_MS, files);
  const names = new NameResolver({ servers: options.dnsServers });
  const sockets = new Set<MessageSocket>();
  const calls = new Set<Call>();
  let closed = false;
  return {
    get(url: URL, options: HttpGetOptions): Promise<HttpResponse> {
      if (closed) return Promise.reject(closedError(url));
      return origins.ofPages(url, options.tls).get(url, options);
    },
    post(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse> {
      if (closed) return Promise.reject(closedError(url));
      return origins.ofPosts(url, options.tls).post(url, body, options);
    },
    openMessages: (options) => trackedSocket(sockets, options),
    openCall: (options) => trackedCall(calls, options, files),
    resolve: (name) => names.resolve(name),
    tlsFiles: files,
    async close() {
      closed = true;
      for (const call of calls) call.close();
      calls.clear();
      for (const socket of sockets) socket.close();
      sockets.clear();
      names.close();
      await origins.close();
    },
  };
}

interface PageOrigin {
  readonly origin: HttpOrigin;
  readonly tls: HttpTls | undefined;
}

/** One connection for each origin and lane, closed when it is unused for `idleMs`. */
class Origins {
  readonly #byName = new Map<string, HttpOrigin>();
  readonly #byUrl = new WeakMap<URL, PageOrigin>();
  readonly #files: OutgoingFiles;
  readonly #tlsNames = new WeakMap<HttpTls, string>();
  readonly #idleMs: Millis;
  readonly #sweep: NodeJS.Timeout;

  constructor(idleMs: Millis, files: OutgoingFiles) {
    this.#files = files;
    this.#idleMs = idleMs;
    this.#sweep = setInterval(() => this.#closeIdle(), idleMs).unref();
  }

  /** Does what `of` does, faster for a URL object that was given before: pages are read often. */
  ofPages(url: URL, tls: HttpTls | undefined): HttpOrigin {
    const known = this.#byUrl.get(url);
    if (known !== undefined && known.tls === tls && !known.origin.isClosed) return known.origin;
    const origin = this.of(url, '', tls);
    this.#byUrl.set(url, { origin, tls });
    return origin;
  }

  /** The one with the fewest requests under way. */
  ofPosts(url: URL, tls: HttpTls | undefined): HttpOrigin {
    let best = this.of(url, ' post 0', tls);
    for (let lane = 1; lane < POST_CONNECTIONS && best.load > 0; lane++) {
      const other = this.of(url, ` post ${lane}`, tls);
      if (other.load < best.load) best = other;
    }
    return best;
  }

  of(url: URL, lane: string, tls: HttpTls | undefined): HttpOrigin {
    const name = url.origin + lane + this.#tlsName(url, tls);
    let origin = this.#byName.get(name);
    if (origin === undefined) {
      origin = new HttpOrigin(url.origin, this.#idleMs, tls, this.#files);
      this.#byName.set(name, origin);
    }
    return origin;
  }

  /** Connections of one kind of verification do not serve requests of another. */
  #tlsName(url: URL, tls: HttpTls | undefined): string {
    if (tls === undefined || url.protocol !== 'https:') return '';
    let name = this.#tlsNames.get(tls);
    if (name === undefined) {
      name = ` tls ${JSON.stringify(tls)}`;
      this.#tlsNames.set(tls, name);
    }
    return name;
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#byName.values()].map((origin) => origin.close()));
    this.#byName.clear();
  }

  #closeIdle(): void {
    const before = performance.now() - this.#idleMs;
    for (const [name, origin] of this.#byName) {
      if (!origin.isIdleSince(before)) continue;
      this.#byName.delete(name);
      void origin.close();
    }
  }
}

function closedError(url: URL): Error {
  return new Error(`the network is closed: no request was sent to ${url.href}`);
}

/** A socket that is in `sockets` for as long as it is open. */
function trackedSocket(sockets: Set<MessageSocket>, options: MessageSocketOptions): MessageSocket {
  const socket = openZmqSocket(options);
  sockets.add(socket);
  return {
    send: (frames) => socket.send(frames),
    close: () => {
      sockets.delete(socket);
      socket.close();
    },
  };
}

/** A call that is in `calls` for as long as it is open. */
function trackedCall(calls: Set<Call>, options: CallOptions, files: OutgoingFiles): Call {
  const onClosed = (reason: string): void => {
    calls.delete(call);
    options.onClosed(reason);
  };
  const call = new GrpcCall({ ...options, onClosed }, files);
  calls.add(call);
  return {
    send: (message) => call.send(message),
    waitingBytes: () => call.waitingBytes(),
    close: () => {
      calls.delete(call);
      call.close();
    },
  };
}
