import { z } from 'zod';
import type { KvFields } from '../../pd/kv-legs.ts';
import { ApiError, parseBody } from '../replica/api-error.ts';
import {
  type BytesOf,
  lastTextOf,
  promptTextAt,
  promptTokenIds,
  renderChat,
  type TextOrTokens,
} from './chat-prompt.ts';
import type { PromptMedia } from './media.ts';
import { type Tools, toolsOf } from './tools.ts';

/** `tokens` is `/inference/v1/generate`: token ids in and out. */
export type GenerationApi = 'chat' | 'completions' | 'responses' | 'messages' | 'tokens';

/** A request of a generating API without its prompts, which are long and not needed again. */
export interface GenerationTerms extends Tools {
  readonly api: GenerationApi;
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Whether each chunk says the usage so far, too. */
  readonly continuousUsage?: boolean;
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
  readonly kv: KvFields;
  /** Nothing is generated if a smaller share of the prompt is cached; 0 by default. */
  readonly cacheHitThreshold: number | undefined;
  /** Media of the prompt; none of APIs that take text alone. */
  readonly media?: readonly PromptMedia[];
  /** Hashes of media that an encoder has computed elsewhere. */
  readonly encodedElsewhere?: ReadonlySet<string>;
  /** Whether the answer to a chat has an image behind its text. */
  readonly withImage?: boolean;
}

export interface GenerationRequest extends GenerationTerms {
  /** Token ids of the rendered prompts; the chat API has one. */
  readonly prompts: readonly Int32Array[];
  /** What was asked last in the prompt at this index, as text. */
  readonly asked: (index: number) => string;
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
  // One list, or one for each group of layers.
  remote_block_ids: z.array(z.union([z.int(), z.array(z.int())])).nullish(),
  remote_num_tokens: z.int().nonnegative().nullish(),
  transfer_id: text,
  remote_bootstrap_addr: text,
  remote_decoder: z.looseObject({ kv_request_id: z.string() }).nullish(),
  remote_prefiller: z.looseObject({ kv_request_id: z.string(), ...address }).nullish(),
});

/** Unknown fields are accepted, as in vLLM. */
const sharedFields = {
  // None is the server's own.
  model: z.string().nullish(),
  stream: flag,
  stream_options: z.looseObject({ include_usage: flag, continuous_usage_stats: flag }).nullish(),
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
  ec_transfer_params: z.record(z.string(), z.unknown()).nullish(),
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

/** What a chat's tokens depend on. */
const chatPromptSchema = z.looseObject({
  messages: z.array(message).min(1),
  tools: z.array(tool).nullish(),
});
const chatSchema = z.looseObject({
  ...sharedFields,
  ...chatPromptSchema.shape,
  max_completion_tokens: z.int().positive().nullish(),
  tool_choice: toolChoice.nullish(),
  logprobs: flag,
  top_logprobs: z.int().min(0).max(20).nullish(),
});
const tokens = z.array(z.int().nonnegative()).min(1);
export const textOrTokens: z.ZodType<TextOrTokens> = z.union([
  z.string(),
  z.array(z.string()).min(1),
  tokens,
  z.array(tokens).min(1),
]);
const completionSchema = z.looseObject({
  ...sharedFields,
  prompt: textOrTokens,
  logprobs: z.int().min(0).max(20).nullish(),
  suffix: text,
});

/** The token ids of a chat that is not to be answered. Throws ApiError. */
export function chatTokenIds(raw: unknown): Int32Array {
  return renderChat(parseBody(chatPromptSchema, raw)).ids;
}

/** Reads a chat completion as vLLM does. Throws ApiError. */
export function readChat(raw: unknown, bytesOf?: BytesOf): GenerationRequest {
  const data = parseBody(chatSchema, raw);
  const { ids, media } = renderChat(data, bytesOf);
  return {
    ...commonTerms(data, 'chat'),
    prompts: [ids],
    media,
    asked: () => lastTextOf(data.messages, bytesOf),
    outputTokensMax: data.max_completion_tokens ?? data.max_tokens ?? undefined,
    logprobs: data.logprobs === true ? (data.top_logprobs ?? 0) : undefined,
    ...toolsOf(data.tools, data.tool_choice),
  };
}

/** The default of the API and of vLLM. */
const COMPLETION_TOKENS = 16;

/**
 * Reads a completion as vLLM does; `tokens` are its answer's where it does not say it. Throws
 * ApiError.
 */
export function readCompletion(
  raw: unknown,
  bytesOf?: BytesOf,
  tokens: number = COMPLETION_TOKENS,
): GenerationRequest {
  const data = parseBody(completionSchema, raw);
  if (typeof data.suffix === 'string') {
    throw new ApiError(400, 'suffix is not currently supported');
  }
  return {
    ...commonTerms(data, 'completions'),
    prompts: promptTokenIds(data.prompt, bytesOf),
    asked: (index) => promptTextAt(data.prompt, index, bytesOf),
    outputTokensMax: data.max_tokens ?? tokens,
    logprobs: data.logprobs ?? undefined,
    tools: [],
    mustCallTool: false,
  };
}

type CommonTerms = Omit<GenerationTerms, 'outputTokensMax' | 'logprobs' | keyof Tools>;

const shared = z.looseObject(sharedFields);

/** What a body of another API says in the fields that all APIs share. Throws ApiError. */
export function readCommonTerms(raw: unknown, api: GenerationApi): CommonTerms {
  return commonTerms(parseBody(shared, raw), api);
}

/** As in vLLM, chunks have none where the end has none. */
function usageOf(
  given: z.infer<typeof shared>['stream_options'],
): Pick<GenerationTerms, 'includeUsage' | 'continuousUsage'> {
  const includeUsage = given?.include_usage === true;
  return {
    includeUsage,
    continuousUsage: includeUsage && given?.continuous_usage_stats === true,
  };
}

function commonTerms(data: z.infer<typeof shared>, api: GenerationApi): CommonTerms {
  const { stop } = data;
  return {
    api,
    model: data.model ?? '',
    stream: data.stream === true,
    ...usageOf(data.stream_options),
    n: data.n ?? 1,
    outputTokensMin: data.min_tokens ?? 0,
    ignoreEos: data.ignore_eos === true,
    stop: typeof stop === 'string' ? [stop] : (stop ?? []),
    seed: data.seed ?? undefined,
    priority: data.priority ?? 0,
    cacheSalt: data.cache_salt ?? '',
    kv: { params: data.kv_transfer_params ?? undefined, room: data.bootstrap_room ?? undefined },
    cacheHitThreshold: data.cache_hit_threshold ?? undefined,
    encodedElsewhere: new Set(Object.keys(data.ec_transfer_params ?? {})),
  };
}
