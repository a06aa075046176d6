import { z } from 'zod';
import { IN_FLIGHT } from '../../src/framework/cycle-facts.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { keyedHash, prefixKey } from './prefix-key.ts';

/**
 * Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam 2016; KubeAI's prefix
 * policy). From the prompt's place on a ring, the first endpoint with fewer requests in flight than
 * `loadFactor` times the mean scores highest and the following ones lower and lower. Endpoints over
 * the bound score lowest.
 */
export const consistentHash: ScorerDefinition = defineScorer({
  type: 'consistent-hash-scorer',
  hashesPrompt: true,
  config: z.lazy(() =>
    z.strictObject({
      /** The tokens at the beginning of a prompt that count. */
      prefixTokens: z.int().positive().default(1024),
      loadFactor: z.number().min(1).default(1.25),
      /** Places of each endpoint on the ring: more places divide the prompts more evenly. */
      replicas: z.int().positive().max(1024).default(64),
    }),
  ),
  needs: () => [IN_FLIGHT],
  create({ prefixTokens, loadFactor, replicas }) {
    return {
      score(endpoints, context) {
        const { request, random } = context;
        const inFlight = context.get(IN_FLIGHT);
        const key = prefixKey(request.prompt, prefixTokens) ?? Math.floor(random.next() * 2 ** 32);
        const loads = endpoints.map((endpoint) => inFlight.load(endpoint).requests);
        const total = loads.reduce((sum, load) => sum + load, 1);
        const bound = Math.ceil((loadFactor * total) / endpoints.length);
        const distances = endpoints.map((endpoint) => distanceTo(endpoint, key, replicas));
        return distances.map((distance, index) => {
          const nearness = 1 - distance / 2 ** 32;
          // Endpoints over the bound keep their order below all others.
          return (loads[index] as number) < bound ? 0.5 + nearness / 2 : nearness / 2;
        });
      },
    };
  },
});

/** The distance from the key clockwise to the endpoint's nearest place. */
function distanceTo({ id }: Endpoint, key: number, replicas: number): number {
  let nearest = 2 ** 32;
  for (let replica = 0; replica < replicas; replica++) {
    const distance = (keyedHash(replica, id) - key) >>> 0;
    if (distance < nearest) nearest = distance;
  }
  return nearest;
}
