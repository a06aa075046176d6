import { z } from 'zod';
import type { KvFields } from '../pd/kv-contract.ts';
import { ApiError, parseBody } from './api-error.ts';
import { tokenIdsOf } from './tokenizer.ts';

/** A tool the model may call. */
interface ToolSpec {
  readonly name: string;
  /** JSON Schema of the arguments. */
  readonly parameters: unknown;
}

/** A request of a generating API without its prompts, which are long and not needed again. */
export interface GenerationTerms {
  readonly api: 'chat' | 'completions';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Number of answers per prompt. */
  readonly n: number;
  readonly outputTokensMax: number | undefined;
  readonly outputTokensMin: number;
  readonly ignoreEos: boolean;
  readonly stop: readonly string[];
  /** Number of alternatives reported per token; 0: the token only; undefined: no logprobs. */
  readonly logprobs: number | undefined;
  /** The client's seed; undefined: the server's. */
  readonly seed: number | undefined;
  readonly priority: number;
  readonly cacheSalt: string;
  readonly tools: readonly ToolSpec[];
  /** Whether the model must call one of `tools`. */
  readonly mustCallTool: boolean;
  readonly kv: KvFields;
  /** Nothing is generated if a smaller share of the prompt is cached; 0 by default. */
  readonly cacheHitThreshold: number | undefined;
}

export interface GenerationRequest extends GenerationTerms {
  /** Token ids of the rendered prompts; the chat API has one. */
  readonly prompts: readonly Int32Array[];
}

const optionalInt = z.int().nullish();
const flag = z.boolean().nullish();
const text = z.string().nullish();
const address = { remote_host: text, remote_port: optionalInt };

const kvTransfer = z.looseObject({
  do_remote_decode: flag,
  do_remote_prefill: flag,
  remote_engine_id: text,
  remote_request_id: text,
  ...address,
  remote_block_ids: z.array(z.int()).nullish(),
  transfer_id: text,
  remote_bootstrap_addr: text,
  remote_decoder: z.looseObject({ kv_request_id: z.string() }).nullish(),
  remote_prefiller: z.looseObject({ kv_request_id: z.string(), ...address }).nullish(),
});

/** Unknown fields are accepted, as in vLLM. */
const shared = {
  model: z.string(),
  stream: flag,
  stream_options: z.looseObject({ include_usage: flag }).nullish(),
  max_tokens: z.int().positive().nullish(),
  min_tokens: z.int().nonnegative().nullish(),
  ignore_eos: flag,
  n: z.int().min(1).max(128).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  seed: optionalInt,
  priority: optionalInt,
  cache_salt: text,
  kv_transfer_params: kvTransfer.nullish(),
  // 63 random bits. A number keeps 53 of them, the same on both legs.
  bootstrap_room: z.union([z.number(), z.string()]).nullish(),
  cache_hit_threshold: z.number().min(0).max(1).nullish(),
};

const content = z.union([
  z.string(),
  z.array(z.looseObject({ type: z.string().optional(), text: z.string().optional() })),
  z.null(),
]);
const tool = z.looseObject({
  type: z.string(),
  function: z.looseObject({ name: z.string(), parameters: z.unknown().optional() }),
});
const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ function: z.looseObject({ name: z.string() }) }),
]);

const toolCall = z.looseObject({ function: z.looseObject({ arguments: z.string() }) });
const message = z.looseObject({
  role: z.string(),
  content: content.optional(),
  tool_calls: z.array(toolCall).nullish(),
});

const chatSchema = z.looseObject({
  ...shared,
  max_completion_tokens: z.int().positive().nullish(),
  messages: z.array(message).min(1),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  logprobs: flag,
  top_logprobs: z.int().min(0).max(20).nullish(),
});
const tokens = z.array(z.int().nonnegative()).min(1);
type TextOrTokens = string | readonly string[] | readonly number[] | readonly (readonly number[])[];
/** A text, several texts, the token ids of one, or those of several. */
export const textOrTokens: z.ZodType<TextOrTokens> = z.union([
  z.string(),
  z.array(z.string()).min(1),
  tokens,
  z.array(tokens).min(1),
]);
const completionSchema = z.looseObject({
  ...shared,
  prompt: textOrTokens,
  logprobs: z.int().min(0).max(20).nullish(),
});

type Chat = z.infer<typeof chatSchema>;
type Completion = z.infer<typeof completionSchema>;

export type BytesOf = (text: string) => Buffer;
function utf8(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/** Reads a chat completion as vLLM does. Throws ApiError. */
export function readChat(raw: unknown, bytesOf: BytesOf = utf8): GenerationRequest {
  const data = parseBody(chatSchema, raw);
  return {
    ...common(data, 'chat'),
    prompts: [chatTokenIds(data, bytesOf)],
    outputTokensMax: data.max_completion_tokens ?? data.max_tokens ?? undefined,
    logprobs: data.logprobs === true ? (data.top_logprobs ?? 0) : undefined,
    ...toolsOf(data),
  };
}

/** Reads a completion as vLLM does. Throws ApiError. */
export function readCompletion(raw: unknown, bytesOf: BytesOf = utf8): GenerationRequest {
  const data = parseBody(completionSchema, raw);
  return {
    ...common(data, 'completions'),
    prompts: promptTokenIds(data.prompt, bytesOf),
    // The default of the API and of vLLM.
    outputTokensMax: data.max_tokens ?? 16,
    logprobs: data.logprobs ?? undefined,
    tools: [],
    mustCallTool: false,
  };
}

type Common = Omit<GenerationRequest, 'prompts' | 'outputTokensMax' | 'logprobs' | keyof Tools>;

function common(data: Chat | Completion, api: GenerationRequest['api']): Common {
  const { stop } = data;
  return {
    api,
    model: data.model,
    stream: data.stream === true,
    includeUsage: data.stream_options?.include_usage === true,
    n: data.n ?? 1,
    outputTokensMin: data.min_tokens ?? 0,
    ignoreEos: data.ignore_eos === true,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
    seed: data.seed ?? undefined,
    priority: data.priority ?? 0,
    cacheSalt: data.cache_salt ?? '',
    kv: { params: data.kv_transfer_params ?? undefined, room: data.bootstrap_room ?? undefined },
    cacheHitThreshold: data.cache_hit_threshold ?? undefined,
  };
}

interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly { readonly text?: string | undefined }[] | undefined;
  readonly tool_calls?:
    | readonly { readonly function: { readonly arguments: string } }[]
    | null
    | undefined;
}

/** The parts of a chat that become the prompt. */
interface ChatPrompt {
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly unknown[] | null | undefined;
}

/**
 * Renders a chat with a minimal template, as token ids: tools, each message after its role, and the
 * role of the next answer. Each piece begins with a new token, as after a special token. An answer
 * that is sent back as a message therefore has the tokens that were generated, and its KV is found.
 */
export function chatTokenIds({ messages, tools }: ChatPrompt, bytesOf: BytesOf = utf8): Int32Array {
  const pieces = tools === null || tools === undefined ? [] : [utf8(JSON.stringify(tools))];
  for (const message of messages) {
    pieces.push(roleOf(message.role), ...textsOf(message).map(bytesOf), END_OF_MESSAGE);
  }
  pieces.push(roleOf('assistant'));
  return tokenIdsOf(...pieces);
}

const END_OF_MESSAGE = utf8('<|>\n');
const roleOf = (role: string): Buffer => utf8(`<|${role}|>\n`);

function textsOf({ content: text, tool_calls: calls }: ChatMessage): readonly string[] {
  const texts = typeof text === 'string' ? [text] : (text ?? []).map(({ text }) => text ?? '');
  return [...texts, ...(calls ?? []).map((call) => call.function.arguments)];
}

export function promptTokenIds(
  prompt: TextOrTokens,
  bytesOf: BytesOf = utf8,
): readonly Int32Array[] {
  if (typeof prompt === 'string') return [tokenIdsOf(bytesOf(prompt))];
  if (typeof prompt[0] === 'number') return [Int32Array.from(prompt as readonly number[])];
  return (prompt as readonly (string | readonly number[])[]).map((each) =>
    typeof each === 'string' ? tokenIdsOf(bytesOf(each)) : Int32Array.from(each),
  );
}

type Tools = Pick<GenerationRequest, 'tools' | 'mustCallTool'>;

function toolsOf({ tools, tool_choice: choice }: Chat): Tools {
  const known = (tools ?? []).map(({ function: { name, parameters } }) => ({ name, parameters }));
  if (typeof choice === 'object' && choice !== null) {
    const { name } = choice.function;
    const named = known.filter((each) => each.name === name);
    if (named.length > 0) return { tools: named, mustCallTool: true };
    const message = `tool_choice names ${name}, which is not among the tools`;
    throw new ApiError(400, message, 'tool_choice');
  }
  if (choice === 'none') return { tools: [], mustCallTool: false };
  if (choice === 'required' && known.length === 0) {
    throw new ApiError(400, 'tool_choice is required, and there are no tools', 'tool_choice');
  }
  return { tools: known, mustCallTool: choice === 'required' };
}
