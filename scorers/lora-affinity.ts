import { z } from 'zod';
import { LORA } from '../src/framework/keys.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/**
 * Prefers endpoints where the request's adapter runs (1), then those with room for another (0.8), then those where it
 * waits to be loaded (0.6). An endpoint that reports no adapters has nothing to load and counts as having room.
 */
export const loraAffinity: ScorerDefinition = defineScorer({
  type: 'lora-affinity-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints, { request }) =>
      endpoints.map((endpoint) => {
        const lora = endpoint.attribute(LORA);
        if (lora === undefined) return 0.8;
        if (lora.running.has(request.model)) return 1;
        if (lora.running.size + lora.waiting.size < lora.max) return 0.8;
        return lora.waiting.has(request.model) ? 0.6 : 0;
      }),
  }),
});
