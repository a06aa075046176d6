import { type InferenceRequest, NO_BLOCKS } from '../../src/framework/request.ts';

/** A streamed request of 1,000 tokens without a prompt, with these fields in place of its own. */
export function plainRequest(fields: Partial<InferenceRequest>): InferenceRequest {
  return {
    id: 'r',
    model: 'meta-llama/Llama-3.1-8B-Instruct',
    streaming: true,
    outputTokensMax: undefined,
    promptTokens: 1000,
    prompt: NO_BLOCKS,
    priority: 0,
    fairnessId: 'default-flow',
    objective: undefined,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: new Map(),
    bodyBytes: 4000,
    ...fields,
  };
}
