import { z } from 'zod';
import { DEFAULT_MEDIA_PRODUCER, mediaMatchKey } from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { producerName } from '../src/plugins/parameters/producer-name.ts';

/**
 * Prefers endpoints that were sent more of the request's images, videos and sounds before: the
 * share of its items. A request without media scores 0 everywhere.
 */
export const mmEmbeddingsCache: ScorerDefinition = defineScorer({
  type: 'mm-embeddings-cache-scorer',
  config: z.strictObject({ producerName: producerName(DEFAULT_MEDIA_PRODUCER) }),
  needs: ({ producerName: producer }) => [mediaMatchKey(producer)],
  create: ({ producerName: producer }) => ({
    score(endpoints, context) {
      const match = context.get(mediaMatchKey(producer));
      if (match.items === 0) return endpoints.map(() => 0);
      return endpoints.map((endpoint) => match.matchedItems(endpoint) / match.items);
    },
  }),
});
