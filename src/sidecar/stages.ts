import type { IncomingMessage } from 'node:http';
import { ENCODE_HEADER, PREFILL_HEADER } from '../framework/routing.ts';
import { TimeoutError, within } from '../runtime/deadline.ts';
import type { Json } from './client-body.ts';
import { encodeMedia } from './encode-media.ts';
import { decodeBody, prefillBody } from './kv-transfer.ts';
import { postJson } from './post-json.ts';
import { messageOf, Refusal } from './refusal.ts';
import type { Stage } from './sidecar-metrics.ts';
import type { SidecarParts } from './sidecar-parts.ts';

export interface StageInput extends SidecarParts {
  readonly request: IncomingMessage;
  /** The request's headers to forward, with a request id. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** The prefilling server that the request names, if it names one. Throws a Refusal if it may not. */
export function namedPrefiller({ request, options, metrics }: StageInput): string | undefined {
  const [first = ''] = String(request.headers[PREFILL_HEADER] ?? '').split(',', 1);
  const prefiller = first.trim();
  if (prefiller === '') return undefined;
  if (options.prefillers(prefiller)) return prefiller;
  metrics.onStage('prefill', 'denied');
  const message = `${PREFILL_HEADER} names ${prefiller}, which is not allowed: see --prefillers`;
  throw new Refusal(403, message);
}

/** The body with its encoders' answers; unchanged if it has no media or no encoder can be used. */
export async function withMedia(body: Json, input: StageInput): Promise<Json> {
  const { request, headers, upstreams, options, metrics, counts } = input;
  const named = String(request.headers[ENCODE_HEADER] ?? '').split(',');
  const servers = named.map((each) => each.trim()).filter((each) => each !== '');
  const encoders = servers.filter((each) => options.encoders(each));
  if (encoders.length < servers.length) metrics.onStage('encode', 'denied');
  if (encoders.length === 0) return body;
  const { encodeTimeoutMs: limitMs } = input.bounds;
  const time = { clock: options.clock, limitMs, signal: input.signal, what: 'did not all answer' };
  try {
    const work = (signal: AbortSignal): Promise<Json | undefined> =>
      encodeMedia(body, { upstreams, encoders, headers, signal });
    const sent = await within(time, work);
    if (sent === undefined) return body;
    counts.encoded += 1;
    metrics.onStage('encode', 'done');
    return sent;
  } catch (error) {
    fallBack('encode', error, input, `encode at ${encoders.join(', ')} failed, encoding here`);
    return body;
  }
}

/** The body with the prefilling server's answer about its KV; unchanged if that server fails. */
export async function withKv(body: Json, server: string, input: StageInput): Promise<Json> {
  const { request, headers, upstreams, metrics, counts, options } = input;
  const { prefillTimeoutMs: limitMs } = input.bounds;
  const time = { clock: options.clock, limitMs, signal: input.signal, what: 'did not answer' };
  try {
    const path = request.url ?? '/';
    const asked = prefillBody(body);
    const answer = await within(time, (signal) =>
      postJson(upstreams, 'prefiller', { server, path, headers, body: asked, signal }),
    );
    const sent = decodeBody(body, answer);
    counts.prefilled += 1;
    metrics.onStage('prefill', 'done');
    return sent;
  } catch (error) {
    fallBack('prefill', error, input, `prefill at ${server} failed, computing here`);
    return body;
  }
}

/** Counts and logs a stage that is left to the engine. Throws where the client has gone. */
export function fallBack(
  stage: Stage,
  error: unknown,
  { counts, metrics, log, signal }: Pick<StageInput, 'counts' | 'metrics' | 'log' | 'signal'>,
  what: string,
): void {
  signal.throwIfAborted();
  counts.fellBack += 1;
  metrics.onStage(stage, error instanceof TimeoutError ? 'timeout' : 'failed');
  log(stage, `${what}: ${messageOf(error)}`);
}
