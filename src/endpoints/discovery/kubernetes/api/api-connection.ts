import { type Dispatcher, getGlobalDispatcher } from 'undici';
import { BodyTooLargeError, type Millis } from '../../../../framework/runtime.ts';
import { within } from '../../../../runtime/clock/deadline.ts';
import { nodeClock } from '../../../../runtime/clock/node-clock.ts';
import { interimAnswers } from '../../../../runtime/network/client/interim-answers.ts';
import { readSmallPieces } from '../../../../runtime/network/client/small-reads.ts';
import type { ApiAccess } from './api-access.ts';
import { boundedAnswers } from './bounded-answers.ts';
import { ApiStatusError } from './kubernetes-error.ts';

export interface ApiQuestion {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** GET when left out. */
  readonly method?: 'GET' | 'POST' | 'PUT';
  /** Sent as JSON. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

export interface ApiConnection {
  /**
   * The bytes of a successful answer, of which no more are read than the caller takes. Rejects with
   * an ApiStatusError for any other, and where 30 s bring no byte.
   */
  open(question: ApiQuestion): Promise<AsyncIterable<Uint8Array>>;
  /**
   * A whole answer as text. Rejects where it is longer, with a BodyTooLargeError, or takes longer.
   */
  text(question: ApiQuestion, limits: AnswerLimits): Promise<string>;
  close(): void;
}

export interface AnswerLimits {
  readonly bytesMax: number;
  readonly timeoutMs: Millis;
}

/** The server sends bookmarks about once a minute, so that quiet watches end, and begin again. */
const SILENT_MS: Millis = 30_000;
const CLOCK = nodeClock();
/** A refusal is read for its message only. */
const REFUSAL = { bytesMax: 64 * 1024, timeoutMs: 5000 } as const;

/**
 * Connects to an API server. The client's own requests read answers of any length,
 * at any pace of the server, and for any time; these do not, and they follow no redirect, because
 * the answer of another server is not the API server's.
 */
export async function connectApi(access: ApiAccess, accept?: string): Promise<ApiConnection> {
  const { server } = access;
  const credentials = await access.credentials();
  const headers = { accept: accept ?? 'application/json', ...trimmed(credentials.headers) };
  const own = credentials.dispatcher;
  readSmallPieces(new URL(server));
  const bounded = (own ?? getGlobalDispatcher()).compose(boundedAnswers);
  const open: ApiConnection['open'] = async (question) => {
    const url = urlOf(server, question);
    const answer = await bounded.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: question.method ?? 'GET',
      headers: question.body ? { ...headers, 'content-type': 'application/json' } : headers,
      body: question.body ? JSON.stringify(question.body) : null,
      signal: question.signal ?? null,
      onInfo: interimAnswers(),
      headersTimeout: SILENT_MS,
      bodyTimeout: SILENT_MS,
    });
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer.body;
    throw await refusalOf(answer);
  };
  return {
    open,
    text: async (question, { bytesMax, timeoutMs }) => {
      const { signal = new AbortController().signal } = question;
      const limit = { clock: CLOCK, limitMs: timeoutMs, signal, what: 'timeout: no whole answer' };
      return await within(limit, async (own) =>
        textOf(await open({ ...question, signal: own }), bytesMax),
      );
    },
    close: () => void own?.destroy(),
  };
}

async function refusalOf({ statusCode, body }: Dispatcher.ResponseData): Promise<ApiStatusError> {
  const late = AbortSignal.timeout(REFUSAL.timeoutMs);
  const refusal = await textOf(body, REFUSAL.bytesMax, late).catch(() => '');
  return new ApiStatusError(statusCode, refusal);
}

/** Files of tokens that are written by hand end with a line, which a header may not have. */
function trimmed(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.trim()]));
}

function urlOf(server: string, { path, query = {} }: ApiQuestion): URL {
  const url = new URL(`${server.replace(/\/$/, '')}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

async function textOf(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
  late?: AbortSignal,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new BodyTooLargeError(`an answer of more than ${bytesMax} bytes`);
    late?.throwIfAborted();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
