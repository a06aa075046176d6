import type { InferenceRequest } from '../../framework/request.ts';
import { promptOfRuns } from '../../journal/capture/block-numbers.ts';
import type { CapturedRequest } from '../../journal/capture/capture-record.ts';

/** The request as a decision core takes it: its text is only blocks that are equal where the captured ones were. */
export function requestOf({
  blocks,
  blockTokens,
  fairness,
  headers = {},
  ...rest
}: CapturedRequest): InferenceRequest {
  return {
    ...rest,
    outputTokensMax: rest.outputTokensMax,
    objective: rest.objective,
    ttftSloMs: rest.ttftSloMs,
    tpotSloMs: rest.tpotSloMs,
    fairnessId: fairness,
    headers: new Map(Object.entries(headers)),
    prompt: promptOfRuns(blocks, blockTokens),
  };
}
