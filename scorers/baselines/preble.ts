import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  prefixMatchKey,
} from '../../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { cheaperIsBetter } from '../scores/normalize.ts';

/**
 * Preble's E2 (Srivatsa et al. 2024): exploit or explore. Where some endpoint holds more than
 * `exploitShare` of the prompt, only the endpoints that hold the most compete, by load. Otherwise
 * all endpoints compete, by load and by the prefill that the request would add. Load is tokens to
 * prefill plus tokens in the batch, the latter at `decodeShare` each.
 */
export const preble: ScorerDefinition = defineScorer({
  type: 'preble-scorer',
  config: z.lazy(() =>
    z.strictObject({
      /** Above this share of the prompt a cached copy is exploited. */
      exploitShare: z.number().min(0).max(1).default(0.5),
      /** The cost of a token in the batch as a share of that of a token to prefill. */
      decodeShare: z.number().nonnegative().default(0.01),
      prefixMatchInfoProducerName: z.string().default(DEFAULT_PREFIX_PRODUCER),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: ({ exploitShare, decodeShare, prefixMatchInfoProducerName }) => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
      const { promptTokens } = context.request;
      const cached = endpoints.map((endpoint) => match.matchedBlocks(endpoint) * match.blockTokens);
      const most = Math.max(0, ...cached);
      const exploits = most > exploitShare * promptTokens;
      const costs = endpoints.map((endpoint, index) => {
        const { pendingPrefillTokens, contextTokens } = inFlight.load(endpoint);
        const ownTokens = exploits ? 0 : Math.max(0, promptTokens - (cached[index] as number));
        return 1 + pendingPrefillTokens + decodeShare * contextTokens + ownTokens;
      });
      if (!exploits) return cheaperIsBetter(costs);
      const holders = costs.map((cost, index) =>
        cached[index] === most ? cost : Number.POSITIVE_INFINITY,
      );
      return cheaperIsBetter(holders);
    },
  }),
});
