import type { Readable } from 'node:stream';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { answeredObject } from '../answers/engine-answer.ts';
import { readWhole } from '../answers/read-whole.ts';
import { TurnsReader } from '../body/read-in-turns.ts';
import type { LegSender, UpstreamServer } from './upstreams.ts';

/** The answers hold one token and transfer parameters. */
const ANSWER_BYTES_MAX = 1024 * 1024;

interface JsonPost {
  /** `host:port`. */
  readonly server: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Buffer[];
  readonly signal: AbortSignal;
}

/**
 * For requests whose answers the sidecar reads itself: the client's encodings do not count there.
 */
export const UNCOMPRESSED = { 'accept-encoding': 'identity' };

/** A server has answered with another status than 200. */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: number;

  constructor(status: number) {
    super(`answered ${status}`);
    this.status = status;
  }
}

/**
 * POSTs JSON and returns the answer, which is read in turns. Rejects unless it is a 200 with a JSON
 * object of at most 1 MiB; a redirect is not followed.
 */
export async function postJson(
  upstreams: LegSender,
  role: UpstreamServer,
  request: JsonPost,
): Promise<JsonObject> {
  const headers = { ...request.headers, ...UNCOMPRESSED, 'content-type': 'application/json' };
  const answer = await upstreams.request(role, { ...request, method: 'POST', headers });
  const text = await readAnswer(answer.statusCode, answer.body);
  const object = await answeredObject(text, new TurnsReader(request.signal));
  if (object === undefined) throw new Error('answered no JSON object');
  return object;
}

/** GETs a path and returns the answer. Rejects unless it is a 200 of at most 1 MiB. */
export async function getText(
  upstreams: LegSender,
  role: UpstreamServer,
  request: Pick<JsonPost, 'server' | 'path' | 'signal'>,
): Promise<Buffer> {
  const empty = { headers: {}, body: [] };
  const answer = await upstreams.request(role, { ...request, ...empty, method: 'GET' });
  return readAnswer(answer.statusCode, answer.body);
}

async function readAnswer(status: number, body: Readable): Promise<Buffer> {
  if (status !== 200) {
    // Leaving a body unread would keep the connection busy.
    body.on('error', () => undefined).destroy();
    throw new StatusError(status);
  }
  return readWhole(body, ANSWER_BYTES_MAX);
}
