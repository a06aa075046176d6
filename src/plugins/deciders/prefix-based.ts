import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  type PrefixMatch,
  prefixMatchKey,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';
import { producerName } from '../parameters/producer-name.ts';

/**
 * Serves the prompt elsewhere when the decoding endpoint would have to compute at least
 * `nonCachedTokens` of it and it has at least `promptTokens` tokens. A `nonCachedTokens` of 0, the
 * default, never does. What the endpoint holds is what the named producer finds.
 */
export const prefixBased: DeciderDefinition = defineDecider({
  type: 'prefix-based-pd-decider',
  config: z.lazy(() =>
    z.strictObject({
      nonCachedTokens: z.int().nonnegative().default(0),
      promptTokens: z.int().nonnegative().default(0),
      prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [prefixMatchKey(prefixMatchInfoProducerName)],
  create({ nonCachedTokens, promptTokens: gate, prefixMatchInfoProducerName }) {
    const key = prefixMatchKey(prefixMatchInfoProducerName);
    return {
      separates(decode, context) {
        const { promptTokens } = context.request;
        if (nonCachedTokens === 0 || promptTokens < gate || promptTokens < nonCachedTokens) {
          return false;
        }
        const match = context.get(key);
        return promptTokens - cachedBlocks(match, decode) * match.blockTokens >= nonCachedTokens;
      },
    };
  },
});

/** A block counts in full in whatever memory it is: it is not computed again. */
function cachedBlocks(match: PrefixMatch, endpoint: Endpoint): number {
  const held = match.heldBlocks?.(endpoint)?.inAnyTier ?? 0;
  return Math.max(held, match.matchedBlocks(endpoint));
}
