import { z } from 'zod';
import { IN_FLIGHT } from '../../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';

/**
 * Power of two choices (Mitzenmacher 2001): of two endpoints drawn at random, the one with fewer of
 * our requests in flight scores 1 and the other 0.5. All other endpoints score 0.
 */
export const powerOfTwo: ScorerDefinition = defineScorer({
  type: 'power-of-two-scorer',
  config: z.strictObject({}),
  needs: () => [IN_FLIGHT],
  create: () => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      // They are drawn by name, so that the order of the endpoints has no effect.
      const drawn = endpoints
        .map((endpoint) => ({ endpoint, draw: context.random.fork(endpoint.id).next() }))
        .sort((a, b) => a.draw - b.draw)
        .slice(0, 2)
        .map(({ endpoint }) => endpoint)
        .sort((a, b) => inFlight.load(a).requests - inFlight.load(b).requests);
      return endpoints.map((endpoint) => [1, 0.5][drawn.indexOf(endpoint)] ?? 0);
    },
  }),
});
