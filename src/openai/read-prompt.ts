import { type InferenceRequest, TEXTS_MAX } from '../framework/request.ts';
import { isPlainObject, type PlainObject } from '../framework/values/plain-object.ts';
import { apiPath } from './api-path.ts';
import type { NotAChat } from './chats/chat-draft.ts';
import { messagesChat } from './chats/messages-chat.ts';
import { responsesChat } from './chats/responses-chat.ts';
import { isVllmGrpcPath, vllmGrpcIds } from './grpc/vllmgrpc-ids.ts';
import { parseBounded } from './json/parse-bounded.ts';
import { requestPath } from './request-path.ts';

/** Why a request has no token ids. */
export type NoTokensReason =
  /** The body is not JSON of a known API, or too large for a tokenizer. */
  | 'unknown-body'
  /** Another API's request that has images or sound, or something that is in no chat. */
  | NotAChat
  /** The request has more texts than are tokenized. */
  | 'several-prompts'
  /** No tokenizer is available. */
  | 'no-tokenizer'
  /** Too many tokenizer requests are running. */
  | 'busy'
  /** The answer came too late; it may be cached for the next equal prompt. */
  | 'deadline'
  /** The tokenizer failed, or its answer was invalid. */
  | 'failed';

/** What a tokenizer is asked for one text. */
export interface TokenQuestion {
  readonly form: 'completion' | 'chat' | 'messages';
  /** The fields of the body that the tokens depend on, under the API's names. */
  readonly fields: PlainObject;
}

/** The texts of a request, for a tokenizer: engines run each as a request of its own. */
export type Prompt =
  | { readonly kind: 'ids'; readonly texts: readonly ArrayLike<number>[]; readonly salt: string }
  | { readonly kind: 'text'; readonly questions: readonly TokenQuestion[]; readonly salt: string }
  | { readonly kind: 'none'; readonly reason: NoTokensReason };

/** Half of the questions that may be under way, so that one request leaves room for others. */
const ASKED_TEXTS_MAX = 32;

/** Fields of a chat that change its tokens, as vLLM's `/tokenize` takes them. */
const CHAT_FIELDS = [
  'model',
  'messages',
  'tools',
  'add_generation_prompt',
  'continue_final_message',
  'add_special_tokens',
  'chat_template',
  'chat_template_kwargs',
  'mm_processor_kwargs',
] as const;
const COMPLETION_FIELDS = ['model', 'prompt', 'add_special_tokens'] as const;
/** Types of message parts that are text. */
const TEXT_PARTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);
/** Fields of a request of Anthropic's Messages API that change its tokens. */
const MESSAGES_FIELDS = [
  'model',
  'system',
  'messages',
  'tools',
  'tool_choice',
  'output_config',
  'chat_template_kwargs',
] as const;
/** APIs whose requests the servers read as chats, by the end of their paths. */
const OTHER_APIS = [
  // In vLLM this API has no salt.
  { end: '/messages', prompt: 'messages', hasSalt: false, chatOf: messagesChat },
  { end: '/responses', prompt: 'input', hasSalt: true, chatOf: responsesChat },
] as const;

/** SGLang's own API, whose text has a field of its own. */
const SGLANG = '/generate';

export interface PromptOptions {
  /** Whether the tokenizer takes requests of the Messages API as they are. */
  readonly rendersMessages?: boolean;
}

/** Reads the prompt from a whole body, given in pieces. */
export function readPrompt(
  request: InferenceRequest,
  pieces: readonly Uint8Array[],
  { rendersMessages = false }: PromptOptions = {},
): Prompt {
  const { headers } = request;
  const path = apiPath(requestPath({ path: headers.get(':path') ?? '', headers }));
  if (isVllmGrpcPath(path)) {
    const ids = vllmGrpcIds(pieces);
    return ids === undefined ? none('unknown-body') : { kind: 'ids', texts: [ids], salt: '' };
  }
  const body = parseObject(pieces);
  if (body === undefined) return none('unknown-body');
  const salt = typeof body['cache_salt'] === 'string' ? body['cache_salt'] : '';
  const other = OTHER_APIS.find(({ end }) => path.endsWith(end));
  if (other !== undefined) {
    const { prompt, hasSalt, chatOf } = other;
    if (!isFilled(body[prompt])) return none('unknown-body');
    const fields = chatOf(body);
    if (rendersMessages && chatOf === messagesChat && fields !== 'media') return asMessages(body);
    return typeof fields === 'string' ? none(fields) : asChat(fields, hasSalt ? salt : '');
  }
  if (Array.isArray(body['messages'])) {
    if (!body['messages'].every(isText)) return none('media');
    return asChat(pick(body, CHAT_FIELDS), salt);
  }
  const ids = body['token_ids'] ?? body['input_ids'];
  const text = path === SGLANG ? body['text'] : undefined;
  return readCompletion(body['prompt'] ?? ids ?? text, body, salt);
}

function asChat(fields: PlainObject, salt: string): Prompt {
  return { kind: 'text', questions: [{ form: 'chat', fields }], salt };
}

/** The API wants a number of tokens of the answer, whatever it is. */
function asMessages(body: PlainObject): Prompt {
  const fields = { ...pick(body, MESSAGES_FIELDS), max_tokens: 1 };
  return { kind: 'text', questions: [{ form: 'messages', fields }], salt: '' };
}

/** `prompt`: a text, token ids, or a list of either. */
function readCompletion(prompt: unknown, body: PlainObject, salt: string): Prompt {
  if (typeof prompt !== 'string' && !Array.isArray(prompt)) return none('unknown-body');
  const given: readonly unknown[] = typeof prompt === 'string' ? [prompt] : prompt;
  if (areIds(given)) return { kind: 'ids', texts: [given], salt };
  if (given.length === 0) return none('unknown-body');
  if (given.every(areIds)) {
    return given.length <= TEXTS_MAX
      ? { kind: 'ids', texts: given, salt }
      : none('several-prompts');
  }
  if (!given.every((each) => typeof each === 'string')) return none('unknown-body');
  if (given.length > ASKED_TEXTS_MAX) return none('several-prompts');
  const common = pick(body, COMPLETION_FIELDS);
  const questions = given.map(
    (text): TokenQuestion => ({ form: 'completion', fields: { ...common, prompt: text } }),
  );
  return { kind: 'text', questions, salt };
}

function areIds(value: unknown): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((id) => typeof id === 'number');
}

function isText(message: unknown): boolean {
  const content = (message as { readonly content?: unknown } | null)?.content;
  if (!Array.isArray(content)) return true;
  return content.every((part) => TEXT_PARTS.has((part as { type?: unknown } | null)?.type));
}

function isFilled(prompt: unknown): boolean {
  return (typeof prompt === 'string' || Array.isArray(prompt)) && prompt.length > 0;
}

function pick(body: PlainObject, names: readonly string[]): PlainObject {
  const present = names.filter((name) => body[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, body[name]]));
}

function none(reason: NoTokensReason): Prompt {
  return { kind: 'none', reason };
}

function parseObject(pieces: readonly Uint8Array[]): PlainObject | undefined {
  const body = parseBounded(pieces);
  return isPlainObject(body) ? body : undefined;
}
