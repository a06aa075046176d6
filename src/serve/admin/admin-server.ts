import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../framework/error.ts';
import { type FramingFault, FramingFaults } from '../../runtime/network/server/framing-fault.ts';
import { closeServer, listen } from '../../runtime/network/server/listen.ts';
import { http, loadHttps } from '../../runtime/network/server/node-http.ts';
import { hasSpareFiles } from '../../runtime/process/open-files.ts';
import type { MetricsTls } from '../tls/metrics-tls.ts';
import { Access, type AccessRefusal } from './access.ts';
import {
  type AdminPages,
  type AdminStream,
  HttpError,
  json,
  namedPaths,
  type Reply,
  routesOf,
  type ServedPath,
} from './admin-routes.ts';
import { OpenReplies } from './open-replies.ts';

export interface AdminServerOptions extends AdminPages {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /**
   * Says who may ask. Without it, documents are served only within this machine, and there are no
   * actions.
   */
  readonly access?: Access | undefined;
  /** TLS of the port; undefined serves plain HTTP. */
  readonly tls?: MetricsTls | undefined;
  /** Called for each request that is refused, with the path. */
  readonly onRefused?: ((path: string, refusal: AccessRefusal) => void) | undefined;
  /** The most connections at a time; 256 by default. */
  readonly connectionsMax?: number;
  /** The most bytes of replies that clients have not taken; 128 MiB by default. */
  readonly replyBytesMax?: number;
}

export interface AdminServer {
  readonly port: number;
  /** Accepts no more connections and cuts those that are open. */
  stop(): Promise<void>;
}

/** More than all scrapers together need. */
const CONNECTIONS_MAX = 256;
/** Long enough for any real client to send its few header bytes. */
const HEADERS_TIMEOUT_MS = 5000;
/** Longer than the usual scrape intervals, so that scrapers keep their connection. */
const KEEP_ALIVE_MS = 75_000;
/** Cuts connections without traffic, such as that of a reader that stopped within a page. */
const IDLE_TIMEOUT_MS = 90_000;
const HEADER_BYTES_MAX = 8 * 1024;

/** Serves the documents and the actions. Rejects with a ListenError where it cannot listen. */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const { access = new Access({}), onRefused = () => undefined } = options;
  const replies = new OpenReplies(options.replyBytesMax);
  const pages: Pages = { routes: routesOf(options), access, onRefused, replies };
  const framing = new FramingFaults();
  const { server, following } = serverFor(options.tls, (request, response) => {
    const fault = framing.of(request, response);
    if (fault === 'unread' || !replies.admits(request.socket, response)) return;
    void answer(pages, request, response, fault);
  });
  server.on('connection', boundConnections(options.connectionsMax ?? CONNECTIONS_MAX));
  server.timeout = IDLE_TIMEOUT_MS;
  const port = await listen(server, options.host, options.port);
  return {
    port,
    stop: async () => {
      await following?.stop();
      await closeServer(server);
    },
  };
}

const TIMES = {
  maxHeaderSize: HEADER_BYTES_MAX,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: KEEP_ALIVE_MS,
};

/** The server, and what follows its certificate. */
function serverFor(
  tls: MetricsTls | undefined,
  answers: (request: IncomingMessage, response: ServerResponse) => void,
): { readonly server: Server; readonly following?: { stop(): Promise<void> } } {
  if (tls === undefined) return { server: http.createServer(TIMES, answers) };
  const { needsClientCertificate: needs } = tls;
  const clients = { requestCert: needs, rejectUnauthorized: needs };
  const handshakeTimeout = HEADERS_TIMEOUT_MS;
  const context = { ...tls.context(), ...clients, handshakeTimeout };
  const server = loadHttps().createServer({ ...TIMES, ...context }, answers);
  return { server, following: tls.follow((next) => server.setSecureContext(next)) };
}

/**
 * Past the limit, or where hardly any more files can be opened, the oldest connection is cut, not
 * the newest refused: otherwise one client that holds connections could keep probes and scrapers
 * out.
 */
function boundConnections(connectionsMax: number): (socket: Socket) => void {
  const open = new Set<Socket>();
  return (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= connectionsMax && hasSpareFiles()) return;
    const [oldest] = open;
    if (oldest === undefined || oldest === socket) return;
    open.delete(oldest);
    oldest.destroy();
  };
}

interface Pages {
  readonly access: Access;
  readonly onRefused: (path: string, refusal: AccessRefusal) => void;
  readonly routes: ReadonlyMap<string, ServedPath>;
  readonly replies: OpenReplies;
}

async function answer(
  pages: Pages,
  request: IncomingMessage,
  response: ServerResponse,
  fault: FramingFault | undefined,
): Promise<void> {
  const reply =
    fault === undefined
      ? await replyTo(pages, request)
      : json(fault.status, { error: fault.sentence });
  if (reply.stream !== undefined) return answerStream(reply.stream, response);
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
  if (reply.status === 401) response.setHeader('www-authenticate', 'Bearer');
  // A body is not read: the connection ends instead of waiting for it.
  if (hasBody(request)) response.setHeader('connection', 'close');
  const bytes = bytesOf(reply.body);
  pages.replies.hold(response, bytes);
  response.writeHead(reply.status, {
    'content-type': reply.contentType,
    'content-length': bytes,
    'x-content-type-options': 'nosniff',
  });
  if (typeof reply.body === 'string') response.end(reply.body);
  // One chunk after another as the client takes them: writing all at once would hold up the loop.
  else if (request.method === 'HEAD') response.end();
  else await pipeline(reply.body, response).catch(() => response.destroy());
}

/** The head is written by the stream's first bytes, unless it refuses. */
function answerStream(stream: AdminStream, response: ServerResponse): void {
  response.setHeader('content-type', 'text/event-stream');
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  const refused = stream(response);
  if (refused === undefined) return;
  response.writeHead(503, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify({ error: refused })}\n`);
}

function bytesOf(body: Reply['body']): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

async function replyTo(
  { routes, access, onRefused }: Pages,
  request: IncomingMessage,
): Promise<Reply> {
  const { url = '', method = '' } = request;
  const [path = '', query] = url.split('?', 2);
  const route = routes.get(path);
  if (route === undefined) {
    return json(404, {
      error: `nothing at ${path.slice(0, 200)}`,
      paths: namedPaths(routes.keys()),
    });
  }
  if (!route.methods.includes(method)) {
    const allow = route.methods.join(', ');
    return {
      ...json(405, { error: `${path} answers ${allow}, not ${method}` }),
      headers: { allow },
    };
  }
  try {
    const refusal = await access.refusal(route.scope, request);
    if (refusal !== undefined) {
      onRefused(path, refusal);
      return json(refusal.status, { error: refusal.sentence });
    }
    return await route.reply(new URLSearchParams(query), request.headers.accept);
  } catch (error) {
    if (error instanceof HttpError) return json(error.status, { error: error.message });
    // The answer says so and the picker goes on: a page that fails must not end the process.
    return json(500, {
      error: `${path} failed: ${messageOf(error)}`,
    });
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
