import { z } from 'zod';
import { PRECISE_PREFIX_PRODUCER, prefixMatchKey } from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/**
 * Prefers endpoints whose engine reports in KV events that it holds more of the prompt: held /
 * total blocks. A prompt shorter than one block scores 0 everywhere. The parameters are those of
 * the producer that the configuration gets with this scorer; they have no effect where the
 * configuration lists the producer itself.
 */
export const precisePrefixCache: ScorerDefinition = defineScorer({
  type: 'precise-prefix-cache-scorer',
  config: z.lazy(() =>
    z.strictObject({
      tokenProcessorConfig: z.unknown().optional(),
      kvEventsConfig: z.unknown().optional(),
      indexerConfig: z.unknown().optional(),
      speculativeIndexing: z.unknown().optional(),
      speculativeTTL: z.unknown().optional(),
    }),
  ),
  needs: () => [prefixMatchKey(PRECISE_PREFIX_PRODUCER)],
  create: () => ({
    score(endpoints, context) {
      const match = context.get(prefixMatchKey(PRECISE_PREFIX_PRODUCER));
      if (match.totalBlocks === 0) return endpoints.map(() => 0);
      return endpoints.map((endpoint) => match.matchedBlocks(endpoint) / match.totalBlocks);
    },
  }),
});
