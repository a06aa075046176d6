import { Agent } from 'undici';
import { z } from 'zod';
import { AnswerExchange } from './answer-exchange.ts';
import type { PreparedRequest, SendRequest } from './sent-request.ts';

export type Api = 'completions' | 'chat';

export interface TargetOptions {
  /** Of the gateway; `/v1/completions` and the like are put behind its path. */
  readonly url: URL;
  readonly api: Api;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's header that names the server. */
  readonly servedByHeader: string;
}

export interface CompletionTarget {
  /** The first model it lists. Throws with what it said instead. */
  firstModel(): Promise<string>;
  readonly send: SendRequest;
  close(): Promise<void>;
}

const PATHS: Readonly<Record<Api, string>> = {
  completions: '/v1/completions',
  chat: '/v1/chat/completions',
};
const MODELS_TIMEOUT_MS = 10_000;
const models = z.object({ data: z.array(z.object({ id: z.string() })).min(1) });

/** An OpenAI-compatible gateway, with a connection for each answer under way. */
export function createCompletionTarget({
  url,
  api,
  headers,
  servedByHeader,
}: TargetOptions): CompletionTarget {
  // How long an answer may take is the replay's to say.
  const agent = new Agent({ connections: null, headersTimeout: 0, bodyTimeout: 0 });
  const { origin } = url;
  const base = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  const sent = { 'content-type': 'application/json', accept: 'text/event-stream', ...headers };
  // A session's name may be of any letters.
  const headersOf = ({ session }: PreparedRequest): Record<string, string> =>
    session === undefined ? sent : { ...sent, 'x-session-id': encodeURIComponent(session) };
  return {
    firstModel: async () => {
      const answer = await agent.request({
        origin,
        path: `${base}/v1/models`,
        method: 'GET',
        headers,
        signal: AbortSignal.timeout(MODELS_TIMEOUT_MS),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${answer.statusCode} ${text.slice(0, 200)}`);
      return models.parse(JSON.parse(text)).data[0]?.id ?? '';
    },
    send: (request, hooks) => {
      const exchange = new AnswerExchange(hooks, servedByHeader);
      const path = `${base}${PATHS[api]}`;
      const body = bodyOf(request, api);
      agent.dispatch({ origin, path, method: 'POST', headers: headersOf(request), body }, exchange);
      return exchange;
    },
    close: () => agent.destroy(),
  };
}

/** The prompt's bytes go in as they are: they need no escape. */
function bodyOf({ model, prompt, outputTokens }: PreparedRequest, api: Api): Buffer {
  const head = `{"model":${JSON.stringify(model)},"max_tokens":${outputTokens},"ignore_eos":true,"temperature":0,"stream":true,"stream_options":{"include_usage":true},`;
  const [before, after] =
    api === 'chat' ? ['"messages":[{"role":"user","content":"', '"}]}'] : ['"prompt":"', '"}'];
  return Buffer.concat([Buffer.from(head + before), prompt, Buffer.from(after)]);
}
