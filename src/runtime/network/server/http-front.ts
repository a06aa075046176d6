import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import { hasSpareFiles } from '../../process/open-files.ts';
import { BoundConnections } from './bound-connections.ts';
import { ChunkPace } from './chunk-pace.ts';
import { FramingFaults } from './framing-fault.ts';
import { closePort, closeServer, listen } from './listen.ts';
import { http, loadHttps } from './node-http.ts';
import { asksForWebSocket, takePathTarget } from './request-target.ts';

/** One request of a client. */
export interface FrontExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the client leaves before the end of the answer, or when the drain is over. */
  readonly signal: AbortSignal;
}

interface HttpFrontOptions {
  readonly clock: Clock;
  /** Undefined: the port has no TLS. */
  readonly tls?: SecureContextOptions | undefined;
  /** Requests beyond this many at once are refused with 503. */
  readonly requestsMax: number;
  /** How many more connections may be open, idle ones and probes. Default: 1024. */
  readonly idleConnectionsMax?: number;
  /** For tests; what this process can open by default. */
  readonly hasSpareFiles?: () => boolean;
  /** Why further requests are refused with 503 for now, as a sentence. Asked for each of them. */
  readonly whyNoMore?: () => string | undefined;
  readonly onRequest: (exchange: FrontExchange) => void;
  /** Answers with an error in the format of the server; the answer has not begun. */
  readonly onRefused: (response: ServerResponse, status: number, message: string) => void;
}

/** How a server ends. */
export interface FrontDrain {
  /** For so long after the beginning, new connections are accepted as before. */
  readonly drainNoticeMs: Millis;
  /** For so long after that, open requests may go on; then they are aborted. */
  readonly drainTimeoutMs: Millis;
}

/** The client closed its connection before the end of the answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** Larger than the headers of any request of a model; the picker's gateway allows 60 KiB. */
const HEADER_BYTES_MAX = 64 * 1024;
const HEADERS_TIMEOUT_MS = 30_000;
/** Longer than gateways keep idle connections, so that they and not we close them. */
const KEEP_ALIVE_MS = 300_000;
const IDLE_CONNECTIONS_MAX = 1024;
/** As many connections as Node has the system take before they are accepted. */
const WAITING_MAX = 511;
/** After the port has closed, a client's connection without a request is kept for so long. */
const KEPT_MS: Millis = 1000;
/** For so long the rest of a refused upload is read, so that its client reads the answer. */
const LINGER_MS = 2_000;

const NO_WEBSOCKET =
  'WebSocket connections are not passed on here: connect to the model server itself, or through Envoy with upgrade_configs for websocket';

/** An HTTP/1.1 server with bounds, which can end without cutting requests. */
export class HttpFront {
  readonly #options: HttpFrontOptions;
  readonly #server: Server | SecureServer;
  readonly #open = new Set<AbortController>();
  readonly #connections: BoundConnections;
  readonly #pace: ChunkPace;
  readonly #framing = new FramingFaults();
  #draining = false;
  #connectionsBegun = 0;
  #connectionsOpen = 0;
  /** Called when a request or a connection has ended. */
  #onEnded: (() => void) | undefined;

  constructor(options: HttpFrontOptions) {
    this.#options = options;
    const bounds = {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      // Each user of this class bounds uploads itself.
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
    };
    const accept = (request: IncomingMessage, response: ServerResponse): void =>
      this.#accept(request, response);
    this.#server =
      options.tls === undefined
        ? http.createServer(bounds, accept)
        : loadHttps().createServer({ ...bounds, ...options.tls }, accept);
    this.#server.on('connection', (socket: Socket) => this.#count(socket));
    this.#pace = new ChunkPace(options.clock);
    const { requestsMax, idleConnectionsMax = IDLE_CONNECTIONS_MAX } = options;
    this.#connections = new BoundConnections(this.#server, {
      connectionsMax: requestsMax + idleConnectionsMax,
      hasSpareFiles: options.hasSpareFiles ?? hasSpareFiles,
    });
  }

  /** Requests that have not ended. */
  get openRequests(): number {
    return this.#open.size;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Ends connections without a request where the process can open no further file. */
  makeRoom(): void {
    this.#connections.makeRoom();
  }

  /** Resolves to the port. Rejects with a ListenError. */
  listen(host: string, port: number): Promise<number> {
    return listen(this.#server, host, port);
  }

  /** Takes another certificate for new connections. Without effect where the port has no TLS. */
  setTls(context: SecureContextOptions): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(context);
  }

  /**
   * Serves on while others take notice, then accepts no more connections and waits for the open
   * requests. Those that last longer than the drain time-out are aborted. Connections without a
   * request stay open for a moment of that time, as their requests may be on the way.
   */
  async drain({ drainNoticeMs, drainTimeoutMs }: FrontDrain): Promise<void> {
    this.#draining = true;
    await new Promise<void>((resolve) => void this.#options.clock.setTimer(drainNoticeMs, resolve));
    await this.#acceptWaiting();
    closePort(this.#server);
    await this.#restEnded(Math.min(drainNoticeMs, KEPT_MS), drainTimeoutMs);
    await this.stop();
  }

  /**
   * While this process was busy, the system has taken connections that would be reset. One is
   * accepted in each turn of the loop, and its request read in the next.
   */
  async #acceptWaiting(): Promise<void> {
    for (let turn = 0, without = 0; turn < WAITING_MAX && without < 2; turn++) {
      const before = this.#connectionsBegun;
      await new Promise(setImmediate);
      without = this.#connectionsBegun === before ? without + 1 : 0;
    }
  }

  /**
   * Resolves when no request is open and no connection, or none for which to wait longer than
   * `keptMs`, and at the latest after `limitMs`. Both times count from now.
   */
  #restEnded(keptMs: Millis, limitMs: Millis): Promise<void> {
    const { clock } = this.#options;
    let isKept = keptMs > 0;
    const isOver = (): boolean => this.#open.size === 0 && (!isKept || this.#connectionsOpen === 0);
    if (limitMs <= 0 || isOver()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        for (const timer of timers) timer.cancel();
        resolve();
      };
      this.#onEnded = () => {
        if (isOver()) end();
      };
      const timers = [
        clock.setTimer(keptMs, () => {
          isKept = false;
          this.#onEnded?.();
        }),
        clock.setTimer(limitMs, end),
      ];
    });
  }

  #count(socket: Socket): void {
    this.#connectionsBegun += 1;
    this.#connectionsOpen += 1;
    socket.once('close', () => {
      this.#connectionsOpen -= 1;
      this.#onEnded?.();
    });
  }

  /** Closes all connections, including those of open requests. */
  async stop(): Promise<void> {
    for (const open of this.#open) open.abort(new Error('the server ends'));
    await closeServer(this.#server);
  }

  #accept(request: IncomingMessage, response: ServerResponse): void {
    const { onRequest } = this.#options;
    const framing = this.#framing.of(request, response);
    if (framing === 'unread') return;
    response.once('close', this.#connections.begin(request.socket));
    if (request.headers['transfer-encoding'] !== undefined) this.#pace.watch(request);
    // Makes clients open their next connection, which finds another server.
    if (this.#draining) response.setHeader('connection', 'close');
    if (framing !== undefined)
      return this.#refuse(request, response, framing.status, framing.sentence);
    const fault = takePathTarget(request);
    if (fault !== undefined) return this.#refuse(request, response, 400, fault);
    if (asksForWebSocket(request)) return this.#refuse(request, response, 501, NO_WEBSOCKET);
    const why = this.#whyNoMore();
    if (why !== undefined) {
      response.setHeader('retry-after', '1');
      return this.#refuse(request, response, 503, why);
    }
    const open = new AbortController();
    this.#open.add(open);
    response.once('close', () => {
      this.#open.delete(open);
      if (!response.writableFinished)
        open.abort(new ClientGone('the client closed its connection'));
      this.#onEnded?.();
    });
    onRequest({ request, response, signal: open.signal });
  }

  #whyNoMore(): string | undefined {
    const { requestsMax, whyNoMore } = this.#options;
    return this.#open.size >= requestsMax
      ? `${requestsMax} requests are open, as many as --max-requests allows`
      : whyNoMore?.();
  }

  #refuse(request: IncomingMessage, response: ServerResponse, status: number, why: string): void {
    endUpload(request, response, this.#options.clock);
    this.#options.onRefused(response, status, why);
  }
}

/**
 * Call it for an answer that begins before the upload has ended. It reads and drops the rest of the
 * upload for a moment, and then closes the connection. Node closes at once for clients that ask for
 * that, which would often discard the answer, too.
 */
export function endUpload(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  if (request.complete || request.destroyed) return;
  if (!response.headersSent) {
    const keeps = response.shouldKeepAlive && !response.hasHeader('connection');
    response.removeHeader('connection');
    response.shouldKeepAlive = true;
    if (!keeps) request.once('end', () => request.socket.destroySoon());
  }
  const timer = clock.setTimer(LINGER_MS, () => request.socket.destroy());
  request.once('close', () => timer.cancel());
  request.resume();
}
