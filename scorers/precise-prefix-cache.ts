import { z } from 'zod';
import { PRECISE_PREFIX_PRODUCER, prefixMatchKey } from '../src/framework/keys.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/**
 * Prefers endpoints whose engine says itself that it holds more of the prompt: held / total blocks. A prompt shorter
 * than one block scores 0 everywhere. Its parameters are those of the producer that a configuration with this scorer
 * gets, and are read there; a producer listed by itself is taken as it is.
 */
export const precisePrefixCache: ScorerDefinition = defineScorer({
  type: 'precise-prefix-cache-scorer',
  config: z.strictObject({
    tokenProcessorConfig: z.unknown().optional(),
    kvEventsConfig: z.unknown().optional(),
    indexerConfig: z.unknown().optional(),
    speculativeIndexing: z.unknown().optional(),
    speculativeTTL: z.unknown().optional(),
  }),
  needs: () => [prefixMatchKey(PRECISE_PREFIX_PRODUCER)],
  create: () => ({
    score(endpoints, context) {
      const match = context.get(prefixMatchKey(PRECISE_PREFIX_PRODUCER));
      if (match.totalBlocks === 0) return endpoints.map(() => 0);
      return endpoints.map((endpoint) => match.matchedBlocks(endpoint) / match.totalBlocks);
    },
  }),
});
