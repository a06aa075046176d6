import { createServer, type IncomingMessage, type Server } from 'node:http';
import { ApiError } from './api-error.ts';
import { sendJson } from './generate.ts';
import { LongTexts } from './long-texts.ts';
import type { Replica } from './replica.ts';
import { type Call, MENDING_PATHS, ROUTES } from './routes.ts';
import type { ReplicaDirectory } from './sequence-kv.ts';

/** A chat of a million tokens fits. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** A test's way to say how long an answer is to be. */
const FORCED_TOKENS_HEADER = 'x-stub-output-tokens';
/** As vLLM names it. */
const RANK_HEADER = 'x-data-parallel-rank';
/** A client may name its request in so many characters. */
const REQUEST_ID_MAX = 256;

/** One model server over HTTP, as vLLM answers. The caller makes it listen. */
export function createStubServer(replica: Replica, find: ReplicaDirectory): Server {
  let requests = 0;
  return createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, (request, response) => {
    requests += 1;
    const requestId = idFrom(request) ?? `${replica.name}-${requests}`;
    const separator = replica.address.lastIndexOf(':');
    response.setHeader('x-inference-pod', replica.name);
    response.setHeader('x-inference-port', replica.address.slice(separator + 1));
    serve(request, { replica, find, response, requestId }).catch((error: unknown) => {
      const refusal =
        error instanceof ApiError
          ? error
          : new ApiError(500, error instanceof Error ? error.message : String(error));
      sendJson(response, refusal.status, refusal.body);
    });
  });
}

async function serve(
  request: IncomingMessage,
  parts: Pick<Call, 'replica' | 'find' | 'response' | 'requestId'>,
): Promise<void> {
  const [path = '/', search = ''] = (request.url ?? '/').split('?', 2);
  const name = `${request.method ?? 'GET'} ${path}`;
  const { reception } = parts.replica.faults;
  if (reception !== 'serve' && !MENDING_PATHS.has(name)) {
    if (reception === 'reset') request.socket.destroy();
    return;
  }
  const route = ROUTES.get(name);
  if (route === undefined) throw notFound(path);
  const body = request.method === 'POST' ? await bodyOf(request) : Buffer.alloc(0);
  if (parts.response.destroyed) return;
  route({
    ...parts,
    replica: rankOf(request, parts.replica),
    receivedAt: parts.replica.clock.now(),
    forcedTokens: forcedTokens(request),
    query: new URLSearchParams(search),
    json: () => parsed(body, (bytes) => JSON.parse(bytes.toString('utf8'))),
    longTexts: () => parsed(body, (bytes) => new LongTexts(bytes)),
  });
}

function notFound(path: string): ApiError {
  const known = [...ROUTES.keys()].some((key) => key.endsWith(` ${path}`));
  return known ? new ApiError(405, 'Method Not Allowed') : new ApiError(404, 'Not Found');
}

function idFrom({ headers }: IncomingMessage): string | undefined {
  const id = headers['x-request-id'];
  return typeof id === 'string' && id !== '' ? id.slice(0, REQUEST_ID_MAX) : undefined;
}

function forcedTokens({ headers }: IncomingMessage): number | undefined {
  const text = headers[FORCED_TOKENS_HEADER];
  if (text === undefined) return undefined;
  const tokens = Number(text);
  if (Number.isInteger(tokens) && tokens > 0) return tokens;
  throw new ApiError(
    400,
    `${FORCED_TOKENS_HEADER}: ${String(text)} is not a positive whole number`,
  );
}

/** Any of a server's ports takes requests for any of its ranks. */
function rankOf({ headers }: IncomingMessage, replica: Replica): Replica {
  const text = headers[RANK_HEADER];
  if (text === undefined) return replica;
  const rank = replica.ranks[text === '' ? -1 : Number(text)];
  if (rank !== undefined) return rank;
  throw new ApiError(
    400,
    `${RANK_HEADER}: ${String(text)} is no rank of this server, which has 0 to ${replica.ranks.length - 1}`,
  );
}

function parsed<T>(body: Buffer, parse: (body: Buffer) => T): T {
  try {
    return parse(body);
  } catch (error) {
    throw new ApiError(400, error instanceof Error ? error.message : 'not JSON');
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const length = Number(request.headers['content-length']);
  if (length <= BODY_BYTES_MAX) return await wholeBody(request, length);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) {
      throw new ApiError(413, `the body is larger than ${BODY_BYTES_MAX} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** One that says how long it is, with no more memory than that. */
async function wholeBody(request: IncomingMessage, bytes: number): Promise<Buffer> {
  const body = Buffer.allocUnsafe(bytes);
  let at = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) at += chunk.copy(body, at);
  return body.subarray(0, at);
}
