import { z } from 'zod';
import type { SequenceUsage } from '../../engine/sequence.ts';
import type { PlannedSequence } from '../answers/plan-sequences.ts';
import { httpRecipient, type Recipient, type Reply, type ReplyCall } from '../answers/reply.ts';
import { idsOf } from '../answers/tokens-reply.ts';
import { ApiError, beginEventStream, parseBody, sendJson } from '../replica/api-error.ts';
import { promptTextAt, promptTokenIds } from '../requests/chat-prompt.ts';
import { type GenerationRequest, readCommonTerms } from '../requests/read-generation.ts';

/** SGLang's default. */
const OUTPUT_TOKENS_DEFAULT = 128;
const ids = z.array(z.int().nonnegative()).min(1);
const schema = z.looseObject({
  text: z.string().nullish(),
  input_ids: ids.nullish(),
  stream: z.boolean().nullish(),
  bootstrap_room: z.union([z.number(), z.string()]).nullish(),
  extra_key: z.string().nullish(),
  sampling_params: z
    .looseObject({
      max_new_tokens: z.int().positive().nullish(),
      min_new_tokens: z.int().nonnegative().nullish(),
      ignore_eos: z.boolean().nullish(),
      stop: z.union([z.string(), z.array(z.string())]).nullish(),
      sampling_seed: z.int().nullish(),
    })
    .default({}),
});

/** Reads a request of SGLang's own API; one prompt, as text or token ids. Throws ApiError. */
export function readSglang(raw: unknown, model: string): GenerationRequest {
  const { text, input_ids: given, sampling_params: sampling, ...others } = parseBody(schema, raw);
  const prompt = given ?? text ?? undefined;
  if (prompt === undefined) throw new ApiError(400, 'Either text or input_ids must be given.');
  const { max_new_tokens: tokensMax, min_new_tokens: tokensMin, stop, ignore_eos } = sampling;
  const fields = { model, min_tokens: tokensMin, ignore_eos, stop, seed: sampling.sampling_seed };
  return {
    ...readCommonTerms({ ...others, ...fields, cache_salt: others.extra_key }, 'tokens'),
    prompts: promptTokenIds(prompt),
    asked: (index) => promptTextAt(prompt, index),
    outputTokensMax: tokensMax ?? OUTPUT_TOKENS_DEFAULT,
    logprobs: undefined,
    tools: [],
    mustCallTool: false,
  };
}

/** Answers as SGLang does: each event has all of the text so far, and the last one the counts. */
export function sglangRecipient(call: ReplyCall): Recipient {
  return {
    ...httpRecipient(call),
    begin: ({ stream }, [sequence]) => {
      if (sequence === undefined) throw new ApiError(500, 'a request has one prompt');
      if (stream) beginEventStream(call.response);
      return stream ? streamedReply(sequence, call) : wholeReply(sequence, call);
    },
  };
}

function wholeReply(sequence: PlannedSequence, { response, requestId }: ReplyCall): Reply {
  return {
    token: () => undefined,
    end: ({ completionTokens, cachedTokens }: SequenceUsage) => {
      const finish = finishOf(sequence, completionTokens);
      const said = { count: completionTokens, cachedTokens, finish };
      sendJson(response, 200, answerUpTo(sequence, requestId, said));
    },
    fail: (message) => sendJson(response, 500, new ApiError(500, message).body),
  };
}

function streamedReply(sequence: PlannedSequence, { response, requestId }: ReplyCall): Reply {
  const write = (event: object): void => void response.write(`data: ${JSON.stringify(event)}\n\n`);
  return {
    token: (_, count) => {
      // The last one comes with the counts of the end.
      if (count >= sequence.answer.tokens) return;
      write(answerUpTo(sequence, requestId, { count, cachedTokens: 0, finish: null }));
    },
    end: ({ completionTokens, cachedTokens }: SequenceUsage) => {
      const finish = finishOf(sequence, completionTokens);
      write(answerUpTo(sequence, requestId, { count: completionTokens, cachedTokens, finish }));
      response.end('data: [DONE]\n\n');
    },
    fail: (message) => {
      write(new ApiError(500, message).body);
      response.end('data: [DONE]\n\n');
    },
  };
}

function finishOf({ answer }: PlannedSequence, count: number): object {
  return answer.end === 'length' ? { type: 'length', length: count } : { type: 'stop' };
}

interface Said {
  /** The tokens so far. */
  readonly count: number;
  readonly cachedTokens: number;
  /** Null before the end. */
  readonly finish: object | null;
}

function answerUpTo(
  { answer, promptTokens }: PlannedSequence,
  requestId: string,
  { count, cachedTokens, finish }: Said,
): object {
  const texts = Array.from({ length: count }, (_, at) => answer.text(at));
  return {
    text: texts.join(''),
    output_ids: idsOf(texts),
    meta_info: {
      id: requestId,
      finish_reason: finish,
      prompt_tokens: promptTokens,
      completion_tokens: count,
      cached_tokens: cachedTokens,
    },
  };
}
