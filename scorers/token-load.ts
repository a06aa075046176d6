import { z } from 'zod';
import {
  countedTokens,
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  prefixMatchKey,
} from '../src/framework/cycle-facts.ts';
import { estimatedOutputTokens } from '../src/framework/output-estimate.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { positiveOr } from '../src/plugins/parameters/positive-or.ts';
import { otherProducer, producerName } from '../src/plugins/parameters/producer-name.ts';

/** Prefers endpoints with fewer uncached prompt tokens to compute, this request's own included. */
export const tokenLoad: ScorerDefinition = defineScorer({
  type: 'token-load-scorer',
  config: z.lazy(() =>
    z.strictObject({
      /** The score is 0 from so many tokens on. */
      queueThresholdTokens: positiveOr(4_194_304),
      inFlightLoadProducerName: otherProducer,
      /**
       * How much a token of media counts beside one of text: read as the reference reads it,
       * without effect.
       */
      nonTextTokenWeight: z.number().optional(),
      prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
      /**
       * How the tokens of the answer count; taken from inflight-load-producer where it is left out.
       */
      outputEstimate: z
        .strictObject({
          ratio: z.number().nonnegative().optional(),
          max: z.int().nonnegative().optional(),
        })
        .optional(),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: ({ queueThresholdTokens, prefixMatchInfoProducerName, outputEstimate }) => ({
    score(endpoints, context) {
      const { request } = context;
      const output = outputEstimate ? estimatedOutputTokens(request, outputEstimate) : 0;
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
      return endpoints.map((endpoint) => {
        const cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
        const uncachedTokens = Math.max(0, request.promptTokens - cachedTokens);
        const tokens = countedTokens(inFlight.load(endpoint)) + uncachedTokens + output;
        return 1 - Math.min(tokens, queueThresholdTokens) / queueThresholdTokens;
      });
    },
  }),
});
