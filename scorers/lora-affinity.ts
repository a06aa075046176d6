import { z } from 'zod';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { isFresh } from '../src/framework/endpoint.ts';
import { LORA } from '../src/framework/endpoint-attributes.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

const RUNNING = 1;
const ROOM = 0.8;
const WAITING = 0.6;

/**
 * Prefers endpoints where the request's adapter runs (1), then those with room for another (0.8),
 * then those where it waits to be loaded (0.6). An endpoint that reports no adapters has room for
 * none (0).
 */
export const loraAffinity: ScorerDefinition = defineScorer({
  type: 'lora-affinity-scorer',
  config: z.strictObject({}),
  create: () => ({
    score(endpoints, { request, now }) {
      const known = endpoints.some((endpoint) => isFresh(endpoint, now));
      if (!known) return endpoints.map(() => RUNNING);
      return endpoints.map((endpoint) =>
        isFresh(endpoint, now) ? affinity(endpoint, request.model) : 0,
      );
    },
  }),
});

function affinity(endpoint: Endpoint, model: string): number {
  const lora = endpoint.attribute(LORA);
  if (lora === undefined) return 0;
  if (lora.running.has(model)) return RUNNING;
  if (lora.running.size + lora.waiting.size < lora.max) return ROOM;
  return lora.waiting.has(model) ? WAITING : 0;
}
