import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  prefixMatchKey,
} from '../../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { otherProducer, producerName } from '../../src/plugins/parameters/producer-name.ts';
import { cheaperIsBetter } from '../scores/normalize.ts';

/** LMetric (arXiv 2603.15202): tokens to prefill, this prompt's included, times the batch size. */
export const lmetric: ScorerDefinition = defineScorer({
  type: 'lmetric-scorer',
  config: z.strictObject({
    prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
    inFlightLoadProducerName: otherProducer,
  }),
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: ({ prefixMatchInfoProducerName }) => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
      const { promptTokens } = context.request;
      return cheaperIsBetter(
        endpoints.map((endpoint) => {
          const { pendingPrefillTokens, requests } = inFlight.load(endpoint);
          const cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
          const newTokens = pendingPrefillTokens + Math.max(1, promptTokens - cachedTokens);
          return newTokens * (requests + 1);
        }),
      );
    },
  }),
});
