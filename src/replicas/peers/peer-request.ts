import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { RoutedEntry } from '../messages/entries.ts';

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/**
 * A request of a peer. What is sent of it is what load, prefix index, speeds and shares of tenants
 * need.
 */
export function peerRequest(
  peer: string,
  entry: RoutedEntry,
  prompt: PromptBlocks,
): InferenceRequest {
  const { number, model, streaming, outputTokensMax, promptTokens } = entry;
  const { fairnessId, objective, priority, bodyBytes } = entry;
  return {
    id: `${peer}/${number}`,
    model,
    streaming,
    outputTokensMax,
    promptTokens,
    prompt,
    priority,
    fairnessId,
    objective,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: NO_HEADERS,
    bodyBytes,
  };
}
