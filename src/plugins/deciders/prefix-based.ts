import { z } from 'zod';
import { prefixMatchKey } from '../../framework/keys.ts';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';

/**
 * Serves the prompt elsewhere when the decoding endpoint would have to compute at least
 * `nonCachedTokens` of it and it has at least `promptTokens` tokens. A `nonCachedTokens` of 0, the
 * default, never does.
 */
export const prefixBased: DeciderDefinition = defineDecider({
  type: 'prefix-based-pd-decider',
  config: z.lazy(() =>
    z.strictObject({
      nonCachedTokens: z.int().nonnegative().default(0),
      promptTokens: z.int().nonnegative().default(0),
    }),
  ),
  needs: () => [prefixMatchKey()],
  create: ({ nonCachedTokens, promptTokens: gate }) => ({
    separates(decode, context) {
      const { promptTokens } = context.request;
      if (nonCachedTokens === 0 || promptTokens < gate || promptTokens < nonCachedTokens) {
        return false;
      }
      const match = context.get(prefixMatchKey());
      return promptTokens - match.matchedBlocks(decode) * match.blockTokens >= nonCachedTokens;
    },
  }),
});
