import { z } from 'zod';
import { IN_FLIGHT } from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { otherProducer } from '../src/plugins/parameters/producer-name.ts';

/**
 * Prefers endpoints with fewer of our own requests in flight: 1 up to `idleThreshold`, above it
 * (max − count)/max × `maxBusyScore`.
 */
export const activeRequest: ScorerDefinition = defineScorer({
  type: 'active-request-scorer',
  config: z.lazy(() =>
    z.strictObject({
      // A value out of range counts as left out, as in the reference.
      idleThreshold: z
        .int()
        .default(0)
        .transform((count) => Math.max(0, count)),
      maxBusyScore: z
        .number()
        .default(1)
        .transform((score) => (score >= 0 && score <= 1 ? score : 1)),
      requestTimeout: z.string().optional(),
      inFlightLoadProducerName: otherProducer,
    }),
  ),
  needs: () => [IN_FLIGHT],
  create: ({ idleThreshold, maxBusyScore }) => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const counts = endpoints.map((endpoint) => inFlight.load(endpoint).requests);
      const most = counts.reduce((a, b) => Math.max(a, b), 0);
      return counts.map((count) =>
        count <= idleThreshold ? 1 : ((most - count) / most) * maxBusyScore,
      );
    },
  }),
});
