import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { keyedHash, prefixKey } from './prefix-key.ts';

/**
 * Rendezvous hashing (Thaler and Ravishankar 1998) of the beginning of the prompt: prompts that
 * begin alike go to one endpoint, whatever its load. When that endpoint is removed, only these
 * prompts move.
 */
export const rendezvous: ScorerDefinition = defineScorer({
  type: 'rendezvous-scorer',
  hashesPrompt: true,
  config: z.lazy(() =>
    z.strictObject({
      /** The tokens at the beginning of a prompt that count. */
      prefixTokens: z.int().positive().default(1024),
    }),
  ),
  create: ({ prefixTokens }) => ({
    score(endpoints, { request, random }) {
      const key = prefixKey(request.prompt, prefixTokens) ?? Math.floor(random.next() * 2 ** 32);
      return endpoints.map(({ id }) => keyedHash(key, id) / 2 ** 32);
    },
  }),
});
