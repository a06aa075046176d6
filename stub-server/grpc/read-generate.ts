import { ApiError } from '../http/replica/api-error.ts';
import type { GenerationRequest } from '../http/requests/read-generation.ts';
import { textOf, tokenIdsOf } from '../http/requests/tokenizer.ts';

/** A prompt as token ids. */
export interface Input {
  readonly input_ids?: readonly number[];
}

/** A GenerateRequest; fields that are not set are left out. */
export interface GenerateMessage {
  readonly request_id?: string;
  readonly tokenized?: Input;
  readonly text?: string;
  readonly sampling_params?: {
    readonly max_tokens?: number;
    readonly min_tokens?: number;
    readonly ignore_eos?: boolean;
    readonly stop?: readonly string[];
    readonly n?: number;
    readonly seed?: number;
  };
  readonly stream?: boolean;
}

/** Reads a GenerateRequest; it names no model. Throws ApiError. */
export function readGenerate(message: GenerateMessage, model: string): GenerationRequest {
  const { text, tokenized, sampling_params: sampling = {}, stream = false } = message;
  const { n = 1 } = sampling;
  if (n > 1) throw new ApiError(400, `n is ${n}: this method gives one answer`, 'n');
  const prompt = text === undefined ? tokensOf(tokenized) : tokenIdsOf(Buffer.from(text, 'utf8'));
  return {
    api: 'tokens',
    model,
    stream,
    includeUsage: true,
    n: 1,
    outputTokensMax: sampling.max_tokens,
    outputTokensMin: sampling.min_tokens ?? 0,
    ignoreEos: sampling.ignore_eos === true,
    stop: sampling.stop ?? [],
    logprobs: undefined,
    seed: sampling.seed,
    priority: 0,
    cacheSalt: '',
    kv: { params: undefined, room: undefined },
    cacheHitThreshold: undefined,
    tools: [],
    mustCallTool: false,
    prompts: [prompt],
    asked: () => text ?? textOf(prompt),
  };
}

/** The token ids of an input. Throws ApiError without any. */
export function tokensOf(input: Input | undefined): Int32Array {
  const ids = input?.input_ids ?? [];
  if (ids.length === 0)
    throw new ApiError(400, 'the request has no input: set input_ids', 'tokenized');
  return Int32Array.from(ids);
}
