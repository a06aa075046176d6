import type { InferenceRequest } from '../framework/request.ts';
import { apiPath } from './api-path.ts';
import { isVllmGrpcPath, vllmGrpcIds } from './grpc/vllmgrpc-ids.ts';
import { parseBounded } from './json/parse-bounded.ts';
import { requestPath } from './request-path.ts';

/** Why a request has no token ids. */
export type NoTokensReason =
  /** The body is not JSON of a known API, or too large for a tokenizer. */
  | 'unknown-body'
  /** Only the model's processor knows the tokens of images and sound. */
  | 'media'
  /** The request has more than one prompt. */
  | 'several-prompts'
  /** No tokenizer is available. */
  | 'no-tokenizer'
  /** Too many tokenizer requests are running. */
  | 'busy'
  /** The answer came too late; it may be cached for the next equal prompt. */
  | 'deadline'
  /** The tokenizer failed, or its answer was invalid. */
  | 'failed';

/** A request's prompt, for a tokenizer. */
export type Prompt =
  | { readonly kind: 'ids'; readonly ids: ArrayLike<number>; readonly salt: string }
  | {
      readonly kind: 'text';
      readonly form: 'completion' | 'chat';
      /** The fields of the body that the tokens depend on, under the API's names. */
      readonly fields: Readonly<Record<string, unknown>>;
      readonly salt: string;
    }
  | { readonly kind: 'none'; readonly reason: NoTokensReason };

type Json = Readonly<Record<string, unknown>>;

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
/** Paths of APIs whose `messages` have another format. */
const OTHER_APIS = /\/(?:messages|responses)$/;

/** Reads the prompt from a whole body, given in pieces. */
export function readPrompt(request: InferenceRequest, pieces: readonly Uint8Array[]): Prompt {
  const { headers } = request;
  const path = apiPath(requestPath({ path: headers.get(':path') ?? '', headers }));
  if (isVllmGrpcPath(path)) {
    const ids = vllmGrpcIds(pieces);
    return ids === undefined ? none('unknown-body') : { kind: 'ids', ids, salt: '' };
  }
  const body = parseObject(pieces);
  if (body === undefined || OTHER_APIS.test(path)) return none('unknown-body');
  const salt = typeof body['cache_salt'] === 'string' ? body['cache_salt'] : '';
  if (Array.isArray(body['messages'])) {
    if (!body['messages'].every(isText)) return none('media');
    return { kind: 'text', form: 'chat', fields: pick(body, CHAT_FIELDS), salt };
  }
  return readCompletion(body['prompt'] ?? body['token_ids'] ?? body['input_ids'], body, salt);
}

/** `prompt`: a text, token ids, or a list of one of these. */
function readCompletion(prompt: unknown, body: Json, salt: string): Prompt {
  if (typeof prompt !== 'string' && !Array.isArray(prompt)) return none('unknown-body');
  const prompts: readonly unknown[] = typeof prompt === 'string' ? [prompt] : prompt;
  const [first] = prompts;
  if (typeof first === 'number') return idsPrompt(prompts, salt);
  if (prompts.length > 1) return none('several-prompts');
  if (Array.isArray(first)) return idsPrompt(first, salt);
  if (typeof first !== 'string') return none('unknown-body');
  const fields = { ...pick(body, COMPLETION_FIELDS), prompt: first };
  return { kind: 'text', form: 'completion', fields, salt };
}

function idsPrompt(ids: readonly unknown[], salt: string): Prompt {
  return ids.every((id) => typeof id === 'number')
    ? { kind: 'ids', ids, salt }
    : none('unknown-body');
}

function isText(message: unknown): boolean {
  const content = (message as { readonly content?: unknown } | null)?.content;
  if (!Array.isArray(content)) return true;
  return content.every((part) => TEXT_PARTS.has((part as { type?: unknown } | null)?.type));
}

function pick(body: Json, names: readonly string[]): Json {
  const present = names.filter((name) => body[name] !== undefined);
  return Object.fromEntries(present.map((name) => [name, body[name]]));
}

function none(reason: NoTokensReason): Prompt {
  return { kind: 'none', reason };
}

function parseObject(pieces: readonly Uint8Array[]): Json | undefined {
  const body = parseBounded(pieces);
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? (body as Json)
    : undefined;
}
