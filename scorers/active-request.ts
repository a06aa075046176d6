import { z } from 'zod';
import { IN_FLIGHT } from '../src/framework/keys.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/**
 * Prefers endpoints with fewer of our own requests in flight: 1 up to `idleThreshold`, above it
 * (max − count)/max × `maxBusyScore`.
 */
export const activeRequest: ScorerDefinition = defineScorer({
  type: 'active-request-scorer',
  config: z.strictObject({
    idleThreshold: z.int().nonnegative().default(0),
    maxBusyScore: z.number().min(0).max(1).default(1),
  }),
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
