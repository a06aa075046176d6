import type { InferenceRequest } from '../framework/request.ts';

/** Why a request's tokens cannot be had. */
export type NoTokensReason =
  /** The body is not the JSON of an API we know. */
  | 'unknown-body'
  /** Pictures or sound: what they become is known to the model's processor alone. */
  | 'media'
  /** More than one prompt in a request. */
  | 'several-prompts'
  /** Nobody to ask. */
  | 'no-tokenizer'
  /** Too many questions under way. */
  | 'busy'
  /** The answer did not come in time; it may still be kept for the next such request. */
  | 'deadline'
  /** The tokenizer refused, or its answer was none. */
  | 'failed';

/** A request's prompt as far as its tokens are concerned. */
export type Prompt =
  | { readonly kind: 'ids'; readonly ids: ArrayLike<number>; readonly salt: string }
  | {
      readonly kind: 'text';
      readonly form: 'completion' | 'chat';
      /** What of the body the tokens depend on, under the names of the API. */
      readonly fields: Readonly<Record<string, unknown>>;
      readonly salt: string;
    }
  | { readonly kind: 'none'; readonly reason: NoTokensReason };

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
/** Parts of a message that are text; of any other the tokens cannot be told. */
const TEXT_PARTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text']);
/** Paths whose `messages` are another API's. */
const OTHER_APIS = /\/(?:messages|responses)\/?(?:\?|$)/;

const utf8 = new TextDecoder();

/** Reads the prompt out of a whole body. A body of another shape has none. */
export function readPrompt(request: InferenceRequest, pieces: readonly Uint8Array[]): Prompt {
  const body = parsed(pieces);
  if (body === undefined || OTHER_APIS.test(request.headers.get(':path') ?? '')) {
    return none('unknown-body');
  }
  const salt = typeof body['cache_salt'] === 'string' ? body['cache_salt'] : '';
  if (Array.isArray(body['messages'])) return chat(body, body['messages'], salt);
  const prompt = body['prompt'] ?? body['token_ids'] ?? body['input_ids'];
  if (typeof prompt === 'string') {
    return { kind: 'text', form: 'completion', fields: picked(body, COMPLETION_FIELDS), salt };
  }
  return Array.isArray(prompt) ? listed(prompt, body, salt) : none('unknown-body');
}

/** A list of ids, or of one prompt of either sort. */
function listed(
  prompt: readonly unknown[],
  body: Readonly<Record<string, unknown>>,
  salt: string,
): Prompt {
  const [first] = prompt;
  if (typeof first === 'number') return ids(prompt, salt);
  if (prompt.length > 1) return none('several-prompts');
  if (Array.isArray(first)) return ids(first, salt);
  if (typeof first !== 'string') return none('unknown-body');
  const fields = { ...picked(body, COMPLETION_FIELDS), prompt: first };
  return { kind: 'text', form: 'completion', fields, salt };
}

function ids(list: readonly unknown[], salt: string): Prompt {
  return list.every((id) => typeof id === 'number')
    ? { kind: 'ids', ids: list as readonly number[], salt }
    : none('unknown-body');
}

function chat(
  body: Readonly<Record<string, unknown>>,
  messages: readonly unknown[],
  salt: string,
): Prompt {
  if (!messages.every(isText)) return none('media');
  return { kind: 'text', form: 'chat', fields: picked(body, CHAT_FIELDS), salt };
}

function isText(message: unknown): boolean {
  const content = (message as { readonly content?: unknown } | null)?.content;
  if (!Array.isArray(content)) return true;
  return content.every((part) => TEXT_PARTS.has((part as { type?: unknown } | null)?.type));
}

function picked(
  body: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    names.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])),
  );
}

function none(reason: NoTokensReason): Prompt {
  return { kind: 'none', reason };
}

function parsed(pieces: readonly Uint8Array[]): Readonly<Record<string, unknown>> | undefined {
  try {
    const body: unknown = JSON.parse(utf8.decode(joined(pieces)));
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? (body as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(pieces.reduce((bytes, piece) => bytes + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
