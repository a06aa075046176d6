import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { Agent, type Dispatcher } from 'undici';
import { ENCODE_HEADER, PREFILL_HEADER } from '../framework/stage-headers.ts';
import { ListenError } from '../runtime/listen-error.ts';
import { postJson } from './post-json.ts';
import { readBody } from './bytes-of.ts';
import { encodeMedia } from './encode-media.ts';
import { decodeBody, prefillBody } from './kv-transfer.ts';

export interface SidecarOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** The decoding server beside it, `host:port`. */
  readonly engine: string;
  /** Servers that prompts may be sent to, `host:port`; any, where left out. */
  readonly prefillers?: readonly string[] | undefined;
  /** Servers that images, video and sound may be sent to, `host:port`; any, where left out. */
  readonly encoders?: readonly string[] | undefined;
  readonly log: (line: string) => void;
}

export interface SidecarCounts {
  /** Prompts computed elsewhere, */
  prefilled: number;
  /** requests whose media were encoded elsewhere, */
  encoded: number;
  /** and how often something had to be done here because that failed. */
  fellBack: number;
}

export interface Sidecar {
  /** `host:port`. */
  readonly address: string;
  readonly counts: Readonly<SidecarCounts>;
  /** Cuts what is still running. */
  stop(): Promise<void>;
}

const REQUEST_ID = 'x-request-id';
const GENERATES: ReadonlySet<string> = new Set(['/v1/chat/completions', '/v1/completions']);
/** A million-token prompt many times over. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
const SERVER_ERROR = 500;
/** Model servers keep idle connections for 5 s (uvicorn); ours must be the shorter. */
const IDLE_MS = 4_000;
/** Of one connection to another; not forwarded. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
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
 * Stands before a decoding server. A request whose header says where to prefill is sent there first, for one token, and
 * then here with what that server answered of its KV (NIXL's contract). Where that fails in any way, the request is served
 * here alone: a prefilling server that is lost costs time and no request. Before that, images, video and sound are sent to
 * the encoders that another header names, item by item. All else is passed on as it is.
 */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const agent = new Agent({ keepAliveTimeout: IDLE_MS, headersTimeout: 0, bodyTimeout: 0 });
  const counts = { prefilled: 0, encoded: 0, fellBack: 0 };
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    serve({ request, response, agent, options, counts }).catch((error: unknown) => {
      refuse(response, 502, `the decoding server ${options.engine}: ${messageOf(error)}`);
    });
  });
  const { host, port } = options;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new ListenError(`${host}:${port}`, error)));
    server.listen(port, host, resolve);
  });
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    counts,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
      await agent.destroy();
    },
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly agent: Agent;
  readonly options: SidecarOptions;
  readonly counts: SidecarCounts;
}

async function serve(exchange: Exchange): Promise<void> {
  const { request, response, options } = exchange;
  const body = await readBody(request as AsyncIterable<Buffer>, BODY_BYTES_MAX);
  if (body === undefined) {
    refuse(response, 413, `the body is larger than ${BODY_BYTES_MAX} bytes`);
    return;
  }
  const [prefiller = ''] = String(request.headers[PREFILL_HEADER] ?? '').split(',', 1);
  const [path = ''] = (request.url ?? '').split('?', 1);
  const generates = request.method === 'POST' && GENERATES.has(path);
  const separate = generates && prefiller !== '';
  if (separate && options.prefillers?.includes(prefiller) === false) {
    refuse(response, 403, `${prefiller} is not among the servers that prompts may be sent to`);
    return;
  }
  const requestId = String(request.headers[REQUEST_ID] ?? randomUUID());
  const encoded = generates ? await withMedia(body, { ...exchange, requestId }) : body;
  const sent = separate ? await withKv(encoded, { ...exchange, prefiller, requestId }) : encoded;
  if (response.destroyed) return;
  await passOn(sent, { ...exchange, requestId, alone: sent === body ? undefined : body });
}

/** The body with where its media were encoded; as it came where it has none, or nobody to encode them, or that fails. */
async function withMedia(
  body: Buffer,
  { request, agent, options, counts, requestId }: Exchange & { requestId: string },
): Promise<Buffer> {
  const named = String(request.headers[ENCODE_HEADER] ?? '').split(',');
  const encoders = named
    .map((each) => each.trim())
    .filter((each) => each !== '' && options.encoders?.includes(each) !== false);
  if (encoders.length === 0) return body;
  try {
    const headers = forwarded(request);
    const sent = await encodeMedia(body, { agent, encoders, headers, requestId });
    if (sent !== undefined) counts.encoded += 1;
    return sent ?? body;
  } catch (error) {
    counts.fellBack += 1;
    options.log(`encode at ${encoders.join(', ')} failed, encoding here: ${messageOf(error)}`);
    return body;
  }
}

/** The body for the decoding server: with where its KV is, or as it came where there is none. */
async function withKv(
  body: Buffer,
  { prefiller, requestId, ...exchange }: Exchange & { prefiller: string; requestId: string },
): Promise<Buffer> {
  const { request, agent, options, counts } = exchange;
  try {
    const asked = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const answer = await postJson(agent, {
      server: prefiller,
      path: request.url ?? '/',
      headers: { ...forwarded(request), [REQUEST_ID]: requestId },
      body: prefillBody(asked),
    });
    counts.prefilled += 1;
    return Buffer.from(JSON.stringify(decodeBody(asked, answer)));
  } catch (error) {
    counts.fellBack += 1;
    options.log(`prefill at ${prefiller} failed, computing here: ${messageOf(error)}`);
    return body;
  }
}

async function passOn(
  body: Buffer,
  {
    alone,
    ...exchange
  }: Exchange & { readonly requestId: string; readonly alone?: Buffer | undefined },
): Promise<void> {
  const { request, response, agent, options, requestId, counts } = exchange;
  const answer = await agent.request({
    origin: `http://${options.engine}`,
    path: request.url ?? '/',
    method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
    headers: { ...forwarded(request), [REQUEST_ID]: requestId },
    body: body.length === 0 ? null : body,
  });
  if (answer.statusCode >= SERVER_ERROR && alone !== undefined) {
    // Its KV was lost on the way: nothing has been said yet, so that the prompt can still be computed here.
    counts.fellBack += 1;
    options.log(`decode with KV from elsewhere answered ${answer.statusCode}, computing here`);
    await answer.body.dump();
    await passOn(alone, exchange);
    return;
  }
  const headers = Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.has(name));
  response.writeHead(answer.statusCode, Object.fromEntries(headers) as Record<string, string>);
  response.flushHeaders();
  // The client gone, the engine is to stop; the engine gone, the client is to see it.
  await pipeline(answer.body, response).catch(() => response.destroy());
}

function forwarded({ headers }: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.has(name) ? [] : [[name, String(value)]],
    ),
  );
}

function refuse(response: ServerResponse, code: number, message: string): void {
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
