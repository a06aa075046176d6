import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../framework/error.ts';
import { TimeoutError } from '../runtime/clock/deadline.ts';
import { unaskedAnswer } from '../runtime/network/client/unasked-answer.ts';
import { ClientGone, endUpload, type FrontExchange } from '../runtime/network/server/http-front.ts';
import { breakOff, passAnswer } from '../runtime/network/server/pass-answer.ts';
import { namedByConnection, SINGLE_HOP } from '../runtime/network/single-hop.ts';
import type { EngineAnswer } from './answers/engine-answer.ts';
import { askEngine } from './ask-engine.ts';
import { plainTarget } from './body/generation-api.ts';
import { Refusal, respondError } from './body/refusal.ts';
import { namedRank, SERVER_HEADERS } from './exchange/named-servers.ts';
import type { RequestOutcome } from './exchange/sidecar-metrics.ts';
import type { Exchange, SidecarParts } from './exchange/sidecar-parts.ts';
import { tracedLegs } from './exchange/traced-legs.ts';
import type { TraceAttributes } from './options/sidecar-options.ts';
import { REQUEST_ID } from './stages/encode-media.ts';
import { SPECULATIVE_PREFILL_HEADER } from './stages/speculative-prefill.ts';

/** The connection was refused, or did not come about in time: the engine starts or has gone. */
const NOT_READY: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Headers that are not forwarded: they belong to one connection or to the sidecar itself. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  ...SINGLE_HOP,
  'content-length',
  'host',
  ...SERVER_HEADERS,
  SPECULATIVE_PREFILL_HEADER,
]);

/** Answers one request at the port of a data-parallel rank, whatever happens. */
export async function serveRequest(
  front: FrontExchange,
  parts: SidecarParts,
  rank: number,
): Promise<void> {
  const { headers: sent, url = '/' } = front.request;
  // What is decided by the path, and the servers asked, must agree on the API.
  front.request.url = plainTarget(url);
  const { engines, options: all } = parts;
  const engine = engines[namedRank(sent, all.port) ?? rank] ?? engines[rank] ?? all.engine;
  const ended = new AbortController();
  const signal = AbortSignal.any([front.signal, ended.signal]);
  const untraced = { ...parts, ...front, signal, engine, headers: headersToForward(front.request) };
  const { exchange, endTrace } = withTrace(untraced);
  const { request, response, metrics, options, log } = exchange;
  try {
    await answer(exchange, (error) => ended.abort(error));
    metrics.onRequest('answered');
    endTrace({ 'http.response.status_code': response.statusCode });
  } catch (error) {
    const outcome = outcomeOf(error, front);
    // No client waits any more for a leg that is still under way.
    ended.abort(error);
    metrics.onRequest(outcome);
    endTrace({ 'error.type': outcome }, messageOf(error));
    if (outcome === 'engine-failed') log('engine', `the engine failed: ${reasonOf(error)}`);
    if (response.headersSent) return breakOff(response);
    if (response.destroyed) return;
    const { status, message } = asRefusal(error, engine);
    endUpload(request, response, options.clock);
    respondError(response, status, message);
  }
}

/** The exchange with traced legs, where traces are written, and what ends its trace. */
function withTrace(exchange: Exchange): {
  readonly exchange: Exchange;
  readonly endTrace: (more: TraceAttributes, failure?: string) => void;
} {
  const { options, request, headers, upstreams } = exchange;
  if (options.tracing === undefined) return { exchange, endTrace: () => undefined };
  const tracing = options.tracing.begin(request.headers);
  const attributes = {
    'llm_d.pd_proxy.connector': options.connector,
    'llm_d.pd_proxy.ec_connector': options.ecConnector,
    'llm_d.pd_proxy.request_id': headers[REQUEST_ID] ?? '',
  };
  const path = { 'llm_d.pd_proxy.request_path': request.url?.split('?', 1)[0] ?? '' };
  return {
    exchange: { ...exchange, upstreams: tracedLegs(upstreams, tracing, attributes) },
    endTrace: (more, failure) => tracing.end({ ...attributes, ...path, ...more }, failure),
  };
}

async function answer(exchange: Exchange, endSilent: (error: Error) => void): Promise<void> {
  const { response, bounds, options, signal, metrics } = exchange;
  const { clock } = options;
  const head = await askEngine(exchange);
  try {
    sendHead(head, response);
    await passAnswer(head, { ...bounds, response, signal, clock, endSilent });
  } finally {
    head.body.destroy();
  }
  if (head.decodedSince === undefined) return;
  metrics.onStage('decode', 'done');
  metrics.onDuration('decode', clock.now() - head.decodedSince);
}

function sendHead({ statusCode, headers }: EngineAnswer, response: ServerResponse): void {
  response.writeHead(statusCode, Object.fromEntries(forwarded(headers)));
  response.flushHeaders();
}

type Values = string | readonly string[];

/** Headers without those of the connection that they came by, whichever of its sides says so. */
function forwarded(
  headers: Readonly<Record<string, Values | undefined>>,
): (readonly [name: string, value: string | string[]])[] {
  const named = namedByConnection([headers['connection'] ?? []].flat());
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || NOT_FORWARDED.has(name) || named.has(name)
      ? []
      : [[name, value as string | string[]] as const],
  );
}

function headersToForward({ headers }: IncomingMessage): Record<string, string> {
  const kept = forwarded(headers).map(([name, value]) => [name, String(value)] as const);
  const requestId = String(headers[REQUEST_ID] ?? randomUUID());
  return { ...Object.fromEntries(kept), [REQUEST_ID]: requestId };
}

function outcomeOf(error: unknown, { signal }: FrontExchange): RequestOutcome {
  if (error instanceof Refusal) return 'refused';
  if (!signal.aborted) return 'engine-failed';
  return signal.reason instanceof ClientGone ? 'client-gone' : 'cut';
}

function reasonOf(error: unknown): string {
  return unaskedAnswer(error) ?? messageOf(error);
}

function asRefusal(error: unknown, engine: string): Refusal {
  if (error instanceof Refusal) return error;
  const what = `decoding server ${engine} failed: ${reasonOf(error)}`;
  if (error instanceof TimeoutError) return new Refusal(504, what, { cause: error });
  const refused = error instanceof Error && 'code' in error && NOT_READY.has(error.code);
  return new Refusal(refused ? 503 : 502, what, { cause: error });
}
