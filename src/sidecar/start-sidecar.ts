import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher } from 'undici';
import { ENCODE_HEADER, PREFILL_HEADER } from '../framework/routing.ts';
import { closeServer, listen } from '../runtime/listen.ts';
import { encodeMedia, REQUEST_ID } from './encode-media.ts';
import { decodeBody, prefillBody } from './kv-transfer.ts';
import { postJson, readBody } from './post-json.ts';

interface SidecarOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** The decoding server, `host:port`. */
  readonly engine: string;
  /** The prefilling servers a request may name, `host:port` each; undefined allows any. */
  readonly prefillers?: readonly string[] | undefined;
  /** The encoders a request may name, `host:port` each; undefined allows any. */
  readonly encoders?: readonly string[] | undefined;
  readonly log: (line: string) => void;
}

interface SidecarCounts {
  /** Prompts computed by a prefilling server. */
  prefilled: number;
  /** Requests whose media were encoded by encoders. */
  encoded: number;
  /** Stages that failed at another server and were left to the decoding server. */
  fellBack: number;
}

export interface Sidecar {
  /** `host:port`. */
  readonly address: string;
  readonly counts: Readonly<SidecarCounts>;
  /** Closes all connections, including those of running requests. */
  stop(): Promise<void>;
}

const GENERATES: ReadonlySet<string> = new Set(['/v1/chat/completions', '/v1/completions']);
/** Many times the size of a prompt of a million tokens. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const SERVER_ERROR = 500;
/** Less than the 5 s for which model servers keep idle connections (uvicorn). */
const IDLE_MS = 4_000;
/** Headers that are not forwarded: they belong to one connection or to the sidecar itself. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'host',
  'expect',
  PREFILL_HEADER,
  ENCODE_HEADER,
]);

/**
 * Starts the proxy in front of a decoding server. A generation request goes first to the encoders
 * that a header names, item by item, then for one token to the prefilling server of another header,
 * then on with the answer about the KV (NIXL's contract). A stage that fails is left to the
 * decoding server. All other requests are forwarded unchanged.
 */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const agent = new Agent({ keepAliveTimeout: IDLE_MS, headersTimeout: 0, bodyTimeout: 0 });
  const counts = { prefilled: 0, encoded: 0, fellBack: 0 };
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const headers = headersToForward(request);
    serve({ request, response, headers, agent, options, counts }).catch((error: unknown) => {
      respondError(response, 502, `decoding server ${options.engine} failed: ${messageOf(error)}`);
    });
  });
  const { host, port } = options;
  const bound = await listen(server, host, port);
  return {
    address: `${host}:${bound}`,
    counts,
    stop: async () => {
      await closeServer(server);
      await agent.destroy();
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The request's headers to forward, with a request id. */
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
  readonly options: SidecarOptions;
  readonly counts: SidecarCounts;
}

async function serve(exchange: Exchange): Promise<void> {
  const { request, response, options } = exchange;
  const body = await readBody(request as AsyncIterable<Buffer>, BODY_BYTES_MAX);
  if (body === undefined) {
    respondError(response, 413, `the request body is larger than ${BODY_BYTES_MAX} bytes`);
    return;
  }
  const [prefiller = ''] = String(request.headers[PREFILL_HEADER] ?? '').split(',', 1);
  const [path = ''] = (request.url ?? '').split('?', 1);
  const generates = request.method === 'POST' && GENERATES.has(path);
  const separate = generates && prefiller !== '';
  if (separate && options.prefillers?.includes(prefiller) === false) {
    const message = `${PREFILL_HEADER} names ${prefiller}, which --prefillers does not allow`;
    respondError(response, 403, message);
    return;
  }
  const encoded = generates ? await withMedia(body, exchange) : body;
  const sent = separate ? await withKv(encoded, prefiller, exchange) : encoded;
  if (response.destroyed) return;
  await forward(sent, exchange, sent === body ? undefined : body);
}

/** The body with its encoders' answers; unchanged if it has no media or no encoder can be used. */
async function withMedia(body: Buffer, exchange: Exchange): Promise<Buffer> {
  const { request, headers, agent, options, counts } = exchange;
  const named = String(request.headers[ENCODE_HEADER] ?? '').split(',');
  const encoders = named
    .map((each) => each.trim())
    .filter((each) => each !== '' && options.encoders?.includes(each) !== false);
  if (encoders.length === 0) return body;
  try {
    const sent = await encodeMedia(body, { agent, encoders, headers });
    if (sent !== undefined) counts.encoded += 1;
    return sent ?? body;
  } catch (error) {
    const servers = encoders.join(', ');
    fallBack(exchange, `encode at ${servers} failed, encoding here: ${messageOf(error)}`);
    return body;
  }
}

/** The body with the prefilling server's answer about its KV; unchanged if that server fails. */
async function withKv(body: Buffer, prefiller: string, exchange: Exchange): Promise<Buffer> {
  const { request, headers, agent, counts } = exchange;
  try {
    const asked = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const path = request.url ?? '/';
    const question = { server: prefiller, path, headers, body: prefillBody(asked) };
    const answer = await postJson(agent, question);
    counts.prefilled += 1;
    return Buffer.from(JSON.stringify(decodeBody(asked, answer)));
  } catch (error) {
    fallBack(exchange, `prefill at ${prefiller} failed, computing here: ${messageOf(error)}`);
    return body;
  }
}

function fallBack({ counts, options }: Exchange, message: string): void {
  counts.fellBack += 1;
  options.log(message);
}

/** `original`: the client's body, for a second try without the other servers' results. */
async function forward(body: Buffer, exchange: Exchange, original?: Buffer): Promise<void> {
  const { request, response, headers, agent, options } = exchange;
  const answer = await agent.request({
    origin: `http://${options.engine}`,
    path: request.url ?? '/',
    method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
    headers,
    body: body.length === 0 ? null : body,
  });
  if (answer.statusCode >= SERVER_ERROR && original !== undefined) {
    // The KV was lost. Nothing has been answered yet, so the prompt can still be computed here.
    fallBack(exchange, `decode with transferred KV answered ${answer.statusCode}, computing here`);
    await answer.body.dump();
    await forward(original, exchange);
    return;
  }
  const kept = Object.entries(answer.headers).filter(([name]) => !NOT_FORWARDED.has(name));
  response.writeHead(answer.statusCode, Object.fromEntries(kept) as Record<string, string>);
  response.flushHeaders();
  // If one side closes, the pipeline closes the other.
  await pipeline(answer.body, response).catch(() => response.destroy());
}

function headersToForward({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || NOT_FORWARDED.has(name) ? [] : [[name, String(value)] as const],
  );
  const requestId = String(headers[REQUEST_ID] ?? randomUUID());
  return { ...Object.fromEntries(kept), [REQUEST_ID]: requestId };
}

function respondError(response: ServerResponse, code: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const error = { message, type: 'sidecar_error', param: null, code };
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
