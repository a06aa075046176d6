import { performance } from 'node:perf_hooks';
import type {
  Call,
  CallOptions,
  HttpGetOptions,
  HttpResponse,
  MessageSocket,
  MessageSocketOptions,
  Millis,
  Network,
} from '../framework/runtime.ts';
import { openGrpcCall } from './grpc-call.ts';
import { HttpOrigin } from './http-origin.ts';
import { openZmqSocket } from './zmq-socket.ts';

/** An origin not asked for so long has left the pool; its connection and its memory are let go. */
const IDLE_MS = 30_000;

/** Connections for posts to one origin: a long question must not hold up short ones. */
const POST_CONNECTIONS = 4;

export interface NodeNetwork extends Network {
  post(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse>;
  openMessages(options: MessageSocketOptions): MessageSocket;
  openCall(options: CallOptions): Call;
  /** Breaks off what is under way. A `get` afterwards rejects. */
  close(): Promise<void>;
}

export interface NodeNetworkOptions {
  /** How long an origin's connection is kept after its last use. */
  readonly idleMs?: Millis;
}

/**
 * HTTP over undici, one kept-alive connection an origin, straight on its dispatcher: no streams. Gets of one origin
 * follow each other; certificates are not verified, as pods have none that could be.
 */
export function createNodeNetwork({ idleMs = IDLE_MS }: NodeNetworkOptions = {}): NodeNetwork {
  const origins = new Map<string, HttpOrigin>();
  const sockets = new Set<MessageSocket>();
  const calls = new Set<Call>();
  let closed = false;
  const originOf = (url: URL, lane: string): HttpOrigin => {
    const name = url.origin + lane;
    let origin = origins.get(name);
    if (origin === undefined) {
      origin = new HttpOrigin(url.origin, idleMs);
      origins.set(name, origin);
    }
    return origin;
  };
  const sweep = setInterval(() => {
    const before = performance.now() - idleMs;
    for (const [name, origin] of origins) {
      if (!origin.isIdleSince(before)) continue;
      origins.delete(name);
      void origin.close();
    }
  }, idleMs).unref();

  return {
    get(url: URL, options: HttpGetOptions): Promise<HttpResponse> {
      if (closed) return Promise.reject(new Error(`the network is closed, ${url.href} not asked`));
      return originOf(url, '').get(url, options);
    },
    post(url: URL, body: Uint8Array, options: HttpGetOptions): Promise<HttpResponse> {
      if (closed) return Promise.reject(new Error(`the network is closed, ${url.href} not asked`));
      let best = originOf(url, ' post 0');
      for (let lane = 1; lane < POST_CONNECTIONS && best.load > 0; lane++) {
        const other = originOf(url, ` post ${lane}`);
        if (other.load < best.load) best = other;
      }
      return best.post(url, body, options);
    },
    openMessages(options: MessageSocketOptions): MessageSocket {
      const socket = openZmqSocket(options);
      sockets.add(socket);
      return {
        send: (frames) => socket.send(frames),
        close: () => {
          sockets.delete(socket);
          socket.close();
        },
      };
    },
    openCall: (options) => tracked(calls, options),
    async close() {
      closed = true;
      clearInterval(sweep);
      for (const call of calls) call.close();
      calls.clear();
      for (const socket of sockets) socket.close();
      sockets.clear();
      await Promise.all([...origins.values()].map((origin) => origin.close()));
      origins.clear();
    },
  };
}

/** A call that is known to be open until it ends. */
function tracked(calls: Set<Call>, options: CallOptions): Call {
  const call = openGrpcCall({
    ...options,
    onClosed: (reason) => {
      calls.delete(call);
      options.onClosed(reason);
    },
  });
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
