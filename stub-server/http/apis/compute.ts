import type { SequenceUsage } from '../../engine/sequence.ts';
import type { PlannedSequence } from '../answers/plan-sequences.ts';
import { httpRecipient } from '../answers/reply.ts';
import { ApiError, sendJson } from '../replica/api-error.ts';
import type { Call } from '../requests/call.ts';
import { type GenerationRequest, readCommonTerms } from '../requests/read-generation.ts';
import { generate } from './generate.ts';

/** What an API that does not answer with tokens has the engine compute. */
export function requestOf(
  model: string,
  prompts: readonly Int32Array[],
  { text = '', tokensMax = 1 }: { readonly text?: string; readonly tokensMax?: number } = {},
): GenerationRequest {
  return {
    ...readCommonTerms({ model }, 'tokens'),
    prompts,
    asked: () => text,
    outputTokensMax: tokensMax,
    logprobs: undefined,
    tools: [],
    mustCallTool: false,
  };
}

/** Sends the answer when the engine has computed the request; with its first sequence. */
export function compute(
  call: Call,
  request: GenerationRequest,
  send: (sequence: PlannedSequence, usage: SequenceUsage) => void,
): void {
  generate(request, call, {
    ...httpRecipient(call),
    begin: (_, [sequence]) => ({
      token: () => undefined,
      end: (usage) => {
        if (sequence !== undefined) send(sequence, usage);
      },
      fail: (message) => sendJson(call.response, 500, new ApiError(500, message).body),
    }),
  });
}
