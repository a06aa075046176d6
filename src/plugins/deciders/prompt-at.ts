import type { PromptSize } from '../../cost-model/step-time.ts';
import { prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';

/** The prompt of the request, as far as it is to be computed at this endpoint. */
export function promptAt(endpoint: Endpoint, context: SchedulingContext): PromptSize {
  const match = context.get(prefixMatchKey());
  const { promptTokens } = context.request;
  const cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
  return { promptTokens, uncachedTokens: Math.max(0, promptTokens - cachedTokens) };
}
