import type { IncomingMessage, Server } from 'node:http';
import { portOf } from '../../src/framework/values/server-address.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { endUpload } from '../../src/runtime/network/server/http-front.ts';
import { http } from '../../src/runtime/network/server/node-http.ts';
import { ApiError, sendError, sendJson } from './replica/api-error.ts';
import { rankOf, type StubReplica } from './replica/stub-replica.ts';
import type { Call, Route } from './requests/call.ts';
import { LongTexts } from './requests/long-texts.ts';
import type { ReplicaDirectory } from './requests/sequence-kv.ts';
import { ALWAYS_SERVED, ROUTES } from './routes.ts';

/** Enough for a chat of a million tokens. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** For a whole request with its body; Node answers 408. */
const UPLOAD_TIMEOUT_MS = 300_000;
/** Connections do not become faster with the model's time. */
const realTime = nodeClock();
const REQUEST_ID_MAX = 256;
/** Number and size of the buffers that are kept for the next body: at most 16 MiB in total. */
const KEPT_MAX = 16;
const KEPT_BYTES_MAX = 1024 * 1024;
/** Smaller buffers are cheap to allocate. */
const KEPT_BYTES_MIN = 64 * 1024;

/** Creates the HTTP server of one model server, with vLLM's answers. It does not listen. */
export function createStubServer(replica: StubReplica, findReplica: ReplicaDirectory): Server {
  let requests = 0;
  const times = { keepAliveTimeout: 120_000, requestTimeout: UPLOAD_TIMEOUT_MS };
  return http.createServer(times, (request, response) => {
    requests += 1;
    const requestId = idFrom(request) ?? `${replica.name}-${requests}`;
    const { pod = replica.name, podNamespace, requestIdHeaders } = replica.options;
    response.setHeader('x-inference-pod', pod);
    response.setHeader('x-inference-port', portOf(replica.address));
    if (podNamespace !== undefined) response.setHeader('x-inference-namespace', podNamespace);
    if (requestIdHeaders) response.setHeader('x-request-id', requestId);
    serve(request, { replica, findReplica, response, requestId }).catch((error: unknown) => {
      endUpload(request, response, realTime);
      const { engine } = replica.options;
      sendError(response, error, 500, { path: request.url ?? '', engine });
    });
  });
}

type Parts = Pick<Call, 'replica' | 'findReplica' | 'response' | 'requestId'>;

async function serve(request: IncomingMessage, parts: Parts): Promise<void> {
  const [path = '/', search = ''] = (request.url ?? '/').split('?', 2);
  const name = `${request.method ?? 'GET'} ${path}`;
  if (!ALWAYS_SERVED.has(name) && isUnserved(request, parts)) return;
  const route = ROUTES.get(name);
  if (route === undefined) throw notFound(path);
  checkKey(request, path, parts.replica.options.apiKeys);
  const { bodyBytesMax: most = BODY_BYTES_MAX } = parts.replica.options;
  const memory = buffers.take(announcedBytes(request, most));
  const body = request.method === 'POST' ? await bodyOf(request, memory, most) : NO_BODY;
  const query = new URLSearchParams(search);
  try {
    if (!parts.response.destroyed) answer(route, request, { ...parts, query, body });
  } finally {
    buffers.giveBack(memory);
  }
}

/** Does what a fault of the whole server does to a request. */
function isUnserved(request: IncomingMessage, { replica, response }: Parts): boolean {
  const { reception } = replica.faults;
  const isEmpty = reception === 'empty' && request.method === 'POST';
  if (reception === 'serve' || (reception === 'empty' && !isEmpty)) return false;
  if (reception === 'reset') request.socket.destroy();
  // An upload that hangs would be answered with 408 in the end.
  else request.resume();
  if (isEmpty) response.writeHead(200, { 'content-length': 0 }).end();
  return true;
}

function answer(
  route: Route,
  request: IncomingMessage,
  { body, ...parts }: Parts & Pick<Call, 'query'> & { readonly body: Buffer },
): void {
  const json = route({
    ...parts,
    replica: rankOf(request.headers, parts.replica),
    receivedAt: parts.replica.clock.now(),
    headers: request.headers,
    body,
    json: () => parsed(body, (bytes) => JSON.parse(bytes.toString('utf8'))),
    longTexts: () => parsed(body, (bytes) => new LongTexts(bytes)),
  });
  if (json !== undefined) sendJson(parts.response, 200, json);
}

/** As in vLLM, a key protects the API and neither health nor metrics. */
function checkKey({ headers }: IncomingMessage, path: string, keys: readonly string[]): void {
  if (keys.length === 0 || !path.startsWith('/v1/')) return;
  const [, key = ''] = /^Bearer (.*)$/.exec(headers.authorization ?? '') ?? [];
  if (!keys.includes(key)) throw new ApiError(401, 'Unauthorized');
}

function notFound(path: string): ApiError {
  const known = [...ROUTES.keys()].some((key) => key.endsWith(` ${path}`));
  return known ? new ApiError(405, 'Method Not Allowed') : new ApiError(404, 'Not Found');
}

function idFrom({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && id !== '' ? id.slice(0, REQUEST_ID_MAX) : undefined;
}

function parsed<T>(body: Buffer, parse: (body: Buffer) => T): T {
  try {
    return parse(body);
  } catch (error) {
    throw new ApiError(400, error instanceof Error ? error.message : 'not JSON');
  }
}

/** Reuses memory of request bodies: hundreds of long prompts per second would become garbage. */
class BodyBuffers {
  readonly #kept: Buffer[] = [];

  /** A buffer of at least `bytes` bytes with undefined content. */
  take(bytes: number): Buffer {
    const at = this.#kept.findIndex((buffer) => buffer.length >= bytes);
    const [found] = at < 0 ? [] : this.#kept.splice(at, 1);
    return found ?? Buffer.allocUnsafe(bytes);
  }

  /** The caller must not use the buffer after this. */
  giveBack(buffer: Buffer): void {
    const fits = buffer.length >= KEPT_BYTES_MIN && buffer.length <= KEPT_BYTES_MAX;
    if (fits && this.#kept.length < KEPT_MAX) this.#kept.push(buffer);
  }
}

const buffers = new BodyBuffers();
const NO_BODY = Buffer.alloc(0);

/** The content length; 0 if the request has none. Throws ApiError if it is above the limit. */
function announcedBytes({ headers }: IncomingMessage, most: number): number {
  const bytes = Number(headers['content-length'] ?? 0);
  if (bytes > most) throw tooLarge(most);
  return bytes;
}

function tooLarge(most: number): ApiError {
  return new ApiError(413, `the body is larger than ${most} bytes`);
}

/** Reads the body, into `memory` if its length is announced. */
async function bodyOf(request: IncomingMessage, memory: Buffer, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const announced = announcedBytes(request, most);
  let bytes = 0;
  // Destroying the request would take the answer with it.
  const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of body) {
    if (announced > 0) chunk.copy(memory, bytes);
    else chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > most) throw tooLarge(most);
  }
  return announced > 0 ? memory.subarray(0, bytes) : Buffer.concat(chunks);
}
