import { z } from 'zod';
import { IN_FLIGHT } from '../../src/framework/keys.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';

/**
 * Power of two choices (Mitzenmacher 2001): of two endpoints drawn by chance the one with fewer of our requests in
 * flight scores 1, the other 0.5, all others 0.
 */
export const powerOfTwo: ScorerDefinition = defineScorer({
  type: 'power-of-two-scorer',
  config: z.strictObject({}),
  needs: () => [IN_FLIGHT],
  create: () => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      // Drawn by name, so that the order endpoints are given in plays no part.
      const drawn = endpoints
        .map((endpoint) => ({ endpoint, ticket: context.random.fork(endpoint.id).next() }))
        .sort((a, b) => a.ticket - b.ticket)
        .slice(0, 2)
        .map(({ endpoint }) => endpoint)
        .sort((a, b) => inFlight.load(a).requests - inFlight.load(b).requests);
      return endpoints.map((endpoint) => [1, 0.5][drawn.indexOf(endpoint)] ?? 0);
    },
  }),
});
