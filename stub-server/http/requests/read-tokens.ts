import { z } from 'zod';
import { parseBody } from '../replica/api-error.ts';
import type { Modality, PromptMedia } from './media.ts';
import { type GenerationRequest, readCommonTerms } from './read-generation.ts';
import { textOf } from './tokenizer.ts';

const MODALITIES: readonly Modality[] = ['image', 'video', 'audio'];

function byModality<T>(
  item: z.ZodType<T>,
): z.ZodType<{ readonly [Each in Modality]?: T[] | undefined }> {
  const items = z.array(item).optional();
  return z.looseObject({ image: items, video: items, audio: items });
}

const tokensSchema = z.looseObject({
  model: z.string().nullish(),
  token_ids: z.array(z.int().nonnegative()).min(1),
  sampling_params: z.looseObject({
    max_tokens: z.int().positive().nullish(),
    extra_args: z.looseObject({ kv_transfer_params: z.unknown() }).nullish(),
  }),
  kv_transfer_params: z.unknown().optional(),
  features: z
    .looseObject({
      mm_hashes: byModality(z.string()).nullish(),
      mm_placeholders: byModality(
        z.looseObject({ offset: z.int().nonnegative(), length: z.int().positive() }),
      ).nullish(),
    })
    .nullish(),
});

/** The media of a prompt, as `/render` names them. */
function mediaIn({ features }: z.infer<typeof tokensSchema>): readonly PromptMedia[] {
  const { mm_hashes: hashes, mm_placeholders: places } = features ?? {};
  return MODALITIES.flatMap((modality) =>
    (hashes?.[modality] ?? []).map((hash, index) => {
      const { offset, length } = places?.[modality]?.[index] ?? { offset: 0, length: 1 };
      return { modality, hash, offset, tokens: length };
    }),
  );
}

/**
 * Reads a request of `/inference/v1/generate` as vLLM does: token ids in and out, and what other
 * APIs have at the top is in `sampling_params`. `model` is the server's where none is named. Throws
 * ApiError.
 */
export function readTokens(raw: unknown, model: string): GenerationRequest {
  const data = parseBody(tokensSchema, raw);
  const { sampling_params: sampling, kv_transfer_params: kv, ...rest } = data;
  const fields = {
    ...sampling,
    ...rest,
    model: data.model ?? model,
    kv_transfer_params: kv ?? sampling.extra_args?.kv_transfer_params,
  };
  return {
    ...readCommonTerms(fields, 'tokens'),
    media: mediaIn(data),
    prompts: [Int32Array.from(data.token_ids)],
    asked: () => textOf(data.token_ids),
    // The default of vLLM's sampling parameters.
    outputTokensMax: sampling.max_tokens ?? 16,
    logprobs: undefined,
    tools: [],
    mustCallTool: false,
  };
}
