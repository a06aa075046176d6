import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  prefixMatchKey,
} from '../../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { cheaperIsBetter } from '../scores/normalize.ts';

/** Tokens in one of Dynamo's KV blocks, by default. */
const BLOCK_TOKENS = 16;

/**
 * NVIDIA Dynamo's router: the weighted number of prefill blocks to compute, plus the blocks that
 * decode there. With a temperature the pick is drawn from the softmax of the negated costs, divided
 * by the highest, with the Gumbel trick: each cost gets a random offset, and the least cost is the
 * draw.
 */
export const dynamoCost: ScorerDefinition = defineScorer({
  type: 'dynamo-cost-scorer',
  config: z.lazy(() =>
    z.strictObject({
      prefillLoadScale: z.number().nonnegative().default(1),
      temperature: z.number().nonnegative().default(0),
      prefixMatchInfoProducerName: z.string().default(DEFAULT_PREFIX_PRODUCER),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: ({ prefillLoadScale, temperature, prefixMatchInfoProducerName }) => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
      const { promptTokens } = context.request;
      const costs = endpoints.map((endpoint) => {
        const { pendingPrefillTokens, contextTokens } = inFlight.load(endpoint);
        const cachedTokens = match.matchedBlocks(endpoint) * match.blockTokens;
        const prefillTokens = pendingPrefillTokens + Math.max(0, promptTokens - cachedTokens);
        return (prefillLoadScale * prefillTokens + contextTokens + promptTokens) / BLOCK_TOKENS;
      });
      if (temperature === 0) return cheaperIsBetter(costs);
      const highest = Math.max(...costs, 1);
      const drawn = endpoints.map(({ id }, index) => {
        const gumbel = -Math.log(-Math.log(context.random.fork(id).next() || Number.MIN_VALUE));
        return (costs[index] as number) / highest - temperature * gumbel;
      });
      const least = Math.min(...drawn);
      return cheaperIsBetter(drawn.map((cost) => 1 + cost - least));
    },
  }),
});
