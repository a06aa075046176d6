import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { messageOf } from '../../framework/error.ts';
import { isPlainObject } from '../../framework/values/plain-object.ts';
import { hasElements, withElements } from '../../openai/json/json-members.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { within } from '../../runtime/clock/deadline.ts';
import { type EngineAnswer, eventIn, isEventStream, isPlain } from '../answers/engine-answer.ts';
import { objectIn } from '../body/client-body.ts';
import { cappedToOneToken, type GenerationApi } from '../body/generation-api.ts';
import type { Exchange, Speculation } from '../exchange/sidecar-parts.ts';
import { postJson } from '../servers/post-json.ts';

/** By this header a client says that the chat goes on. */
export const SPECULATIVE_PREFILL_HEADER = 'x-speculative-prefill';
/** Go's texts for true, as the reference reads them. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
/** After a longer answer nothing is computed ahead. */
const ANSWER_BYTES_MAX = 1024 * 1024;
const TIMEOUT_MS = 30_000;
const CHAT_PATH = '/v1/chat/completions';
/** What follows the answer in the next turn, so that templates render it as history. */
const NEXT_USER = JSON.stringify({ role: 'user', content: ' ' });

/** A chat that has been answered. */
interface Turn {
  readonly body: JsonObject;
  readonly api: GenerationApi;
  /** Where prompts of this chat are computed; undefined: by the engine. */
  readonly prefiller: string | undefined;
}

/**
 * The answer to pass on. Once it is passed, the conversation is computed before its next turn asks
 * for it, where the client wants that, so that the next turn finds it cached. For one chat at a
 * time; what fails has no effect on any answer.
 */
export function computedAhead(turn: Turn, answer: EngineAnswer, exchange: Exchange): EngineAnswer {
  const { speculation, request } = exchange;
  if (speculation === undefined || speculation.underWay) return answer;
  const wanted = turn.api.name === 'chat_completions' && asks(request.headers);
  if (!wanted || answer.statusCode !== 200 || !isPlain(answer)) return answer;
  const body = Readable.from(passed(speculation, { turn, answer, exchange }), {
    objectMode: false,
  });
  return { ...answer, body, needsRequest: true };
}

interface Answered {
  readonly turn: Turn;
  readonly answer: EngineAnswer;
  readonly exchange: Exchange;
}

async function* passed(
  speculation: Speculation,
  { turn, answer, exchange }: Answered,
): AsyncGenerator<Buffer> {
  const body = answer.body as AsyncIterable<Buffer>;
  // Taken only now: an answer that is never read does not come to an end either.
  if (speculation.underWay) return yield* body;
  speculation.underWay = true;
  const kept: Buffer[] = [];
  let bytes = 0;
  let prompt: JsonObject | undefined;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes <= ANSWER_BYTES_MAX) kept.push(chunk);
      yield chunk;
    }
    if (bytes <= ANSWER_BYTES_MAX) {
      prompt = nextPrompt(turn, textOf(Buffer.concat(kept), answer));
    }
  } finally {
    if (prompt === undefined) speculation.underWay = false;
  }
  if (prompt === undefined) return;
  void compute(prompt, turn, exchange).finally(() => {
    speculation.underWay = false;
  });
}

async function compute(body: JsonObject, turn: Turn, exchange: Exchange): Promise<void> {
  const { options, log } = exchange;
  // The client may have gone by then.
  const { signal } = new AbortController();
  const time = { clock: options.clock, limitMs: TIMEOUT_MS, signal, what: 'did not answer' };
  try {
    await within(time, (own) => send(body, turn, exchange, own));
  } catch (error) {
    log('speculative', `a conversation was not computed ahead: ${messageOf(error)}`);
  }
}

function asks(headers: IncomingHttpHeaders): boolean {
  return TRUE.has(String(headers[SPECULATIVE_PREFILL_HEADER] ?? '').trim());
}

/** Has the servers that will answer the next turn compute the prompt. */
async function send(
  body: JsonObject,
  turn: Turn,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  const { prefiller } = turn;
  if (prefiller === undefined) await post('decoder', exchange.engine, { body, signal }, exchange);
  else if (exchange.contract.name !== 'sglang') {
    await post('prefiller', prefiller, { body, signal }, exchange);
  } else await sendToBoth(body, { ...turn, prefiller }, exchange, signal);
}

/** SGLang's prefilling server waits for a decoding one. */
async function sendToBoth(
  body: JsonObject,
  { api, prefiller }: Turn & { readonly prefiller: string },
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  const { contract, engine } = exchange;
  const legs = await contract.legsOf({ body, api, prefiller, kvSource: undefined, signal });
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const decode = legs.decode(undefined);
  try {
    await Promise.all([
      post('prefiller', prefiller, { body: legs.prefill.body, signal: either }, exchange),
      post('decoder', engine, { body: decode.body, signal: either }, exchange),
    ]);
  } finally {
    // Where one has failed, the other would wait for it.
    stop.abort();
  }
}

function post(
  role: 'prefiller' | 'decoder',
  server: string,
  { body, signal }: { readonly body: JsonObject; readonly signal: AbortSignal },
  { upstreams }: Exchange,
): Promise<JsonObject> {
  return postJson(upstreams, role, {
    server,
    path: CHAT_PATH,
    headers: {},
    body: body.pieces,
    signal,
  });
}

/**
 * The request for one token after the conversation; undefined where it lacks messages or answer.
 */
function nextPrompt({ body, api }: Turn, text: string): JsonObject | undefined {
  const messages = body.member('messages');
  if (text === '' || messages === undefined || !hasElements(messages)) return undefined;
  const answer = JSON.stringify({ role: 'assistant', content: text });
  const all = withElements(messages, `${answer},${NEXT_USER}`);
  return cappedToOneToken(body.with({ messages: all }), api);
}

/** The text of a chat's first answer; empty where there is none. */
function textOf(bytes: Buffer, answer: EngineAnswer): string {
  if (!isEventStream(answer)) return contentIn(bytes, 'message');
  const lines = bytes.toString('utf8').split('\n');
  return lines
    .map((line) => eventIn(Buffer.from(line)))
    .map((event) => (event === undefined ? '' : contentIn(event, 'delta')))
    .join('');
}

function contentIn(json: Buffer, part: 'message' | 'delta'): string {
  const choices = objectIn(json)?.['choices'];
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const message = isPlainObject(first) ? first[part] : undefined;
  const content = isPlainObject(message) ? message['content'] : undefined;
  return typeof content === 'string' ? content : '';
}
