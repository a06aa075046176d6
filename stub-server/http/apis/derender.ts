import { z } from 'zod';
import { usageObject } from '../answers/whole-reply.ts';
import { ApiError, parseBody } from '../replica/api-error.ts';
import type { StubReplica } from '../replica/stub-replica.ts';
import { textOf } from '../requests/tokenizer.ts';

/** What `/inference/v1/generate` answers. */
const generated = z.looseObject({
  request_id: z.string(),
  choices: z.array(
    z.looseObject({
      finish_reason: z.string().nullish(),
      token_ids: z.array(z.int()).min(1),
    }),
  ),
  kv_transfer_params: z.unknown().optional(),
});
const shared = { model: z.string().nullish(), stream: z.boolean().nullish() };
const chatSchema = z.looseObject({
  ...shared,
  generate_response: generated,
  prompt_tokens: z.int().nonnegative().nullish(),
});
const completionSchema = z.looseObject({
  ...shared,
  generate_responses: z.array(generated).min(1),
  prompt_tokens: z.array(z.int().nonnegative()).nullish(),
});

type Generated = z.infer<typeof generated>;

interface Derendered {
  readonly model: string;
  readonly object: string;
  readonly promptTokens: number;
  readonly replica: StubReplica;
  readonly choice: (text: string) => object;
}

/** `/v1/chat/completions/derender`: generated token ids as a chat completion. Throws ApiError. */
export function derenderChat(raw: unknown, { replica }: { readonly replica: StubReplica }): object {
  const { generate_response: response, ...data } = parseBody(chatSchema, raw);
  return derendered([response], data.stream, {
    replica,
    model: data.model ?? replica.options.model,
    object: 'chat.completion',
    promptTokens: data.prompt_tokens ?? 0,
    choice: (content) => ({ message: { role: 'assistant', content, tool_calls: [] } }),
  });
}

/** `/v1/completions/derender`: the same of completions, one for each prompt. Throws ApiError. */
export function derenderCompletion(
  raw: unknown,
  { replica }: { readonly replica: StubReplica },
): object {
  const { generate_responses: responses, ...data } = parseBody(completionSchema, raw);
  const counts = data.prompt_tokens ?? responses.map(() => 0);
  if (counts.length !== responses.length) {
    const message = `prompt_tokens has ${counts.length} numbers for ${responses.length} responses: give one for each`;
    throw new ApiError(400, message, 'prompt_tokens');
  }
  return derendered(responses, data.stream, {
    replica,
    model: data.model ?? replica.options.model,
    object: 'text_completion',
    promptTokens: counts.reduce((sum, count) => sum + count, 0),
    choice: (text) => ({ text }),
  });
}

function derendered(
  responses: readonly Generated[],
  stream: boolean | null | undefined,
  { replica, model, object, promptTokens, choice }: Derendered,
): object {
  if (stream === true) throw new ApiError(400, 'stream: derender answers in one piece', 'stream');
  const all = responses.flatMap(({ choices }) => choices);
  const completionTokens = all.reduce((sum, { token_ids: ids }) => sum + ids.length, 0);
  const [first] = responses;
  const transfers = new Set(responses.map((each) => JSON.stringify(each.kv_transfer_params)));
  return {
    id: first?.request_id,
    created: Math.floor(replica.clock.wallTime() / 1000),
    model,
    object,
    choices: all.map(({ token_ids: ids, finish_reason: reason }, index) => ({
      index,
      ...choice(textOf(ids)),
      logprobs: null,
      finish_reason: reason ?? 'stop',
    })),
    usage: usageObject({ promptTokens, completionTokens, cachedTokens: 0 }),
    kv_transfer_params: transfers.size === 1 ? (first?.kv_transfer_params ?? null) : null,
  };
}
