import { ApiError } from '../replica/api-error.ts';
import { type StubReplica, servedName } from '../replica/stub-replica.ts';
import type { Call } from '../requests/call.ts';
import type { Modality, PromptMedia } from '../requests/media.ts';
import { type GenerationRequest, readChat, readCompletion } from '../requests/read-generation.ts';
import { readMessages } from '../requests/read-messages.ts';
import { shownIds } from '../requests/tokenizer.ts';

/** `/v1/chat/completions/render`: the request as `/inference/v1/generate` takes it. */
export function renderChat(call: Call): object {
  return onlyRendering(readChat(call.json()), call);
}

/** `/v1/messages/render`: the same of a request of Anthropic's Messages API. */
export function renderMessages(call: Call): object {
  return onlyRendering(readMessages(call.json()), call);
}

/** `/v1/completions/render`: one for each prompt. */
export function renderCompletion({ json, requestId, replica }: Call): readonly object[] {
  return rendering(readCompletion(json()), replica, `cmpl-${requestId}`);
}

function onlyRendering(request: GenerationRequest, { requestId, replica }: Call): object {
  const [rendered] = rendering(request, replica, `chatcmpl-${requestId}`);
  if (rendered === undefined) throw new ApiError(500, 'a chat has one prompt');
  return rendered;
}

function rendering(
  request: GenerationRequest,
  replica: StubReplica,
  id: string,
): readonly object[] {
  const { media = [] } = request;
  const model = servedName(replica, request.model);
  const { stream, n, outputTokensMax, outputTokensMin, ignoreEos, stop, seed } = request;
  return request.prompts.map((prompt, index) => ({
    request_id: request.prompts.length === 1 ? id : `${id}-${index}`,
    token_ids: shownIds(prompt),
    ...(media.length > 0 && { features: featuresOf(media) }),
    model,
    stream,
    sampling_params: {
      n,
      max_tokens: outputTokensMax ?? null,
      min_tokens: outputTokensMin,
      ignore_eos: ignoreEos,
      stop,
      seed: seed ?? null,
    },
    cache_salt: request.cacheSalt || null,
    priority: request.priority,
  }));
}

/** The media of a prompt by modality, as vLLM gives them. */
function featuresOf(media: readonly PromptMedia[]): object {
  const hashes: Partial<Record<Modality, string[]>> = {};
  const places: Partial<Record<Modality, object[]>> = {};
  for (const { modality, hash, offset, tokens } of media) {
    (hashes[modality] ??= []).push(hash);
    (places[modality] ??= []).push({ offset, length: tokens });
  }
  return { mm_hashes: hashes, mm_placeholders: places };
}
