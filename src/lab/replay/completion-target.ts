import { Agent, type Dispatcher } from 'undici';
import { z } from 'zod';
import { AnswerExchange, type AnswerHooks } from './answer-exchange.ts';

export type Api = 'completions' | 'chat';

/** A request as it is sent. */
export interface PreparedRequest {
  readonly model: string;
  /** UTF-8 that needs no escape in JSON. */
  readonly prompt: Buffer;
  readonly outputTokens: number;
  /** Sent in the header `x-session-id`. */
  readonly session?: string | undefined;
}

/** Sends a request at once and reports its answer to the hooks. */
export type SendRequest = (
  request: PreparedRequest,
  hooks: AnswerHooks,
) => Pick<AnswerExchange, 'cancel'>;

export interface TargetOptions {
  /** The gateway's address; `/v1/completions` and the like are appended to its path. */
  readonly url: URL;
  readonly api: Api;
  /** Headers to send with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** The response header that names the server, in lower case. */
  readonly servedByHeader: string;
  /**
   * Whether the length of an answer is said by a header that the stub knows: then a picker does not
   * learn it. By `max_tokens` if left out.
   */
  readonly stubLengths?: boolean;
}

export interface CompletionTarget {
  /** The first model that the target lists. Rejects with the target's answer if it lists none. */
  firstModel(): Promise<string>;
  readonly send: SendRequest;
  close(): Promise<void>;
}

/** The header in which the endpoint picker names the endpoint that served a request. */
export const SERVED_BY_HEADER = 'x-inference-pod';
const PATHS: Readonly<Record<Api, string>> = {
  completions: '/v1/completions',
  chat: '/v1/chat/completions',
};
/** Sets the length of an answer of the stub. */
const STUB_LENGTH_HEADER = 'x-stub-output-tokens';
const MODELS_TIMEOUT_MS = 10_000;
const ERROR_CHARS_MAX = 200;
const models = z.object({ data: z.array(z.object({ id: z.string() })).min(1) });

/** A client of an OpenAI-compatible gateway, with one connection for each answer under way. */
export function createCompletionTarget({
  url,
  api,
  headers,
  servedByHeader,
  stubLengths = false,
}: TargetOptions): CompletionTarget {
  // The open loop has a timeout of its own.
  const agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  const { origin } = url;
  const base = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  const sent = { 'content-type': 'application/json', accept: 'text/event-stream', ...headers };
  const headersOf = ({ session, outputTokens }: PreparedRequest): Record<string, string> => ({
    ...sent,
    // A session's name may contain characters that a header may not.
    ...(session !== undefined && { 'x-session-id': encodeURIComponent(session) }),
    ...(stubLengths && { [STUB_LENGTH_HEADER]: String(outputTokens) }),
  });
  return {
    firstModel: () => firstModelOf(agent, { origin, path: `${base}/v1/models`, headers }),
    send: (request, hooks) => {
      const exchange = new AnswerExchange(hooks, servedByHeader);
      const path = `${base}${PATHS[api]}`;
      const body = bodyOf(request, { api, stubLengths });
      agent.dispatch({ origin, path, method: 'POST', headers: headersOf(request), body }, exchange);
      return exchange;
    },
    close: () => agent.destroy(),
  };
}

async function firstModelOf(
  agent: Agent,
  asked: Pick<Dispatcher.RequestOptions, 'origin' | 'path' | 'headers'>,
): Promise<string> {
  const signal = AbortSignal.timeout(MODELS_TIMEOUT_MS);
  const answer = await agent.request({ ...asked, method: 'GET', signal });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) {
    throw new Error(`${answer.statusCode} ${text.slice(0, ERROR_CHARS_MAX)}`);
  }
  return models.parse(JSON.parse(text)).data[0]?.id ?? '';
}

/** The prompt's bytes are inserted as they are, because they need no escape. */
function bodyOf(
  { model, prompt, outputTokens }: PreparedRequest,
  { api, stubLengths }: Required<Pick<TargetOptions, 'api' | 'stubLengths'>>,
): Buffer {
  const length = stubLengths ? '' : `"max_tokens":${outputTokens},"ignore_eos":true,`;
  const head = `{"model":${JSON.stringify(model)},${length}"temperature":0,"stream":true,"stream_options":{"include_usage":true},`;
  const [before, after] =
    api === 'chat' ? ['"messages":[{"role":"user","content":"', '"}]}'] : ['"prompt":"', '"}'];
  return Buffer.concat([Buffer.from(head + before), prompt, Buffer.from(after)]);
}
