import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { DEFAULT_PREFIX_PRODUCER, IN_FLIGHT, prefixMatchKey } from '../../framework/keys.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { otherProducer, producerName } from '../parameters/producer-name.ts';

/**
 * The reference's newest policy, sticky until saturated: keeps only endpoints that hold at least
 * `affinityThreshold` of the prompt, as long as the fastest of them would answer at most
 * `maxTTFTPenaltyMs` later than the fastest of the others. The time is tokens in flight over
 * `peakPrefillThroughput` (tokens a second).
 */
export const prefixCacheAffinityFilter: FilterDefinition = defineFilter({
  type: 'prefix-cache-affinity-filter',
  config: z.strictObject({
    affinityThreshold: z.number().max(1).default(0.8),
    explorationProbability: z.number().min(0).max(1).default(0),
    /** 0 keeps to the sticky endpoints however slow they are. */
    maxTTFTPenaltyMs: z.number().nonnegative().default(18_000),
    /** The older form of the same bound, in tokens in flight; it counts where it is given. */
    maxTokensInFlightPenalty: z.number().nonnegative().optional(),
    /** Both values mean the formula: the latency predictor is a service of another vendor. */
    ttftSource: z.enum(['prefillThroughput', 'latencyPredictor']).default('prefillThroughput'),
    /** In tokens a second; the default is the reference's, for one model on one accelerator. */
    peakPrefillThroughput: z.number().positive().default(15_928),
    prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
    inFlightLoadProducerName: otherProducer,
    latencyPredictionInfoProducerName: otherProducer,
  }),
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: ({ maxTTFTPenaltyMs, maxTokensInFlightPenalty, ...parameters }) => ({
    filter(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(parameters.prefixMatchInfoProducerName));
      if (match.totalBlocks === 0) return endpoints;
      const isSticky = (endpoint: Endpoint): boolean =>
        match.matchedBlocks(endpoint) / match.totalBlocks >= parameters.affinityThreshold;
      const sticky = endpoints.filter(isSticky);
      if (sticky.length === 0 || sticky.length === endpoints.length) return endpoints;
      if (context.random.next() < parameters.explorationProbability) return endpoints;
      const msOf = (tokens: number): number => (1000 * tokens) / parameters.peakPrefillThroughput;
      const penaltyMs =
        maxTokensInFlightPenalty === undefined ? maxTTFTPenaltyMs : msOf(maxTokensInFlightPenalty);
      const ttftMs = (endpoint: Endpoint): number =>
        msOf(inFlight.load(endpoint).pendingPrefillTokens);
      const best = (some: readonly Endpoint[]): number => Math.min(...some.map(ttftMs));
      const rest = endpoints.filter((endpoint) => !isSticky(endpoint));
      return penaltyMs > 0 && best(sticky) - best(rest) > penaltyMs ? endpoints : sticky;
    },
  }),
});
