import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import { ENCODE_HEADER, PREFILL_HEADER } from '../framework/routing.ts';
import { TimeoutError, within } from '../runtime/deadline.ts';
import { ClientGone, endUpload, type FrontExchange } from '../runtime/http-front.ts';
import { breakOff, passAnswer } from '../runtime/pass-answer.ts';
import { checkedBody, parsedObject } from './client-body.ts';
import { REQUEST_ID } from './encode-media.ts';
import { readUpload } from './read-upload.ts';
import { messageOf, Refusal, respondError } from './refusal.ts';
import type { RequestOutcome } from './sidecar-metrics.ts';
import type { SidecarParts } from './sidecar-parts.ts';
import { fallBack, namedPrefiller, type StageInput, withKv, withMedia } from './stages.ts';

interface Exchange extends FrontExchange, StageInput {}

const GENERATES: ReadonlySet<string> = new Set(['/v1/chat/completions', '/v1/completions']);
const SERVER_ERROR = 500;
/** The connection was refused, or did not come about in time: the engine starts or has gone. */
const NOT_READY: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Headers that are not forwarded: they belong to one connection or to the sidecar itself. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'content-length',
  'host',
  'expect',
  'te',
  'trailer',
  'upgrade',
  PREFILL_HEADER,
  ENCODE_HEADER,
]);

/** Answers one request, whatever happens. */
export async function serveRequest(front: FrontExchange, parts: SidecarParts): Promise<void> {
  const exchange = { ...parts, ...front, headers: headersToForward(front.request) };
  const { request, response, metrics, options, log } = exchange;
  try {
    await answer(exchange);
    metrics.onRequest('answered');
  } catch (error) {
    const outcome = outcomeOf(error, exchange);
    metrics.onRequest(outcome);
    if (outcome === 'engine-failed') log('engine', `the engine failed: ${messageOf(error)}`);
    if (response.headersSent) return breakOff(response);
    if (response.destroyed) return;
    const { status, message } = asRefusal(error, options.engine);
    endUpload(request, response, options.clock);
    respondError(response, status, message);
  }
}

async function answer(exchange: Exchange): Promise<void> {
  const { response, bounds, options, signal, metrics } = exchange;
  const { head, withResults } = await askEngine(exchange);
  const kept = Object.entries(head.headers).filter(([name]) => !NOT_FORWARDED.has(name));
  response.writeHead(head.statusCode, Object.fromEntries(kept) as Record<string, string>);
  response.flushHeaders();
  await passAnswer(head, { ...bounds, response, signal, clock: options.clock });
  if (withResults) metrics.onStage('decode', 'done');
}

interface EngineAnswer {
  readonly head: Dispatcher.ResponseData;
  /** Whether the engine used the results of other servers. */
  readonly withResults: boolean;
}

/** Holds the request's body until the engine has the whole of it and answers. */
async function askEngine(exchange: Exchange): Promise<EngineAnswer> {
  const { request, bounds, budget, options, signal } = exchange;
  const upload = await readUpload(request, { bounds, budget, clock: options.clock, signal });
  try {
    const generates = request.method === 'POST' && GENERATES.has(pathOf(request));
    const isJson = generates || /[/+]json\b/i.test(request.headers['content-type'] ?? '');
    const body = isJson && upload.length > 0 ? checkedBody(upload) : upload;
    const prefiller = generates ? namedPrefiller(exchange) : undefined;
    // Parsing takes a multiple of the body: only where other servers have a part.
    const apart = prefiller !== undefined || request.headers[ENCODE_HEADER] !== undefined;
    const asked = generates && apart && body.length > 0 ? parsedObject(body) : undefined;
    const encoded = asked && (await withMedia(asked, exchange));
    const sent = encoded && prefiller ? await withKv(encoded, prefiller, exchange) : encoded;
    if (sent !== asked) {
      const head = await forward(Buffer.from(JSON.stringify(sent)), exchange);
      if (head.statusCode < SERVER_ERROR) return { head, withResults: true };
      // The KV was lost. Nothing has been answered yet, so the prompt can still be computed here.
      head.body.on('error', () => undefined).destroy();
      const answered = new Error(`answered ${head.statusCode}`);
      fallBack('decode', answered, exchange, 'decode with transferred KV failed, computing here');
    }
    return { head: await forward(body, exchange), withResults: false };
  } finally {
    budget.giveBack(upload.length);
  }
}

function forward(body: Buffer, exchange: Exchange): Promise<Dispatcher.ResponseData> {
  const { request, headers, upstreams, options, bounds, signal } = exchange;
  const { clock, engine } = options;
  const { firstByteTimeoutMs: limitMs } = bounds;
  const time = { clock, limitMs, signal, what: 'sent no headers' };
  return within(time, (own) =>
    upstreams.request('decoder', {
      server: engine,
      path: request.url ?? '/',
      method: (request.method ?? 'GET') as Dispatcher.HttpMethod,
      headers,
      body,
      signal: own,
    }),
  );
}

/** The path as servers read it: without a query, and with no characters encoded. */
function pathOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function headersToForward({ headers }: IncomingMessage): Record<string, string> {
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || NOT_FORWARDED.has(name) ? [] : [[name, String(value)] as const],
  );
  const requestId = String(headers[REQUEST_ID] ?? randomUUID());
  return { ...Object.fromEntries(kept), [REQUEST_ID]: requestId };
}

function outcomeOf(error: unknown, { signal }: Exchange): RequestOutcome {
  if (error instanceof Refusal) return 'refused';
  if (!signal.aborted) return 'engine-failed';
  return signal.reason instanceof ClientGone ? 'client-gone' : 'cut';
}

function asRefusal(error: unknown, engine: string): Refusal {
  if (error instanceof Refusal) return error;
  const what = `decoding server ${engine} failed: ${messageOf(error)}`;
  if (error instanceof TimeoutError) return new Refusal(504, what, { cause: error });
  const refused = error instanceof Error && 'code' in error && NOT_READY.has(error.code);
  return new Refusal(refused ? 503 : 502, what, { cause: error });
}
