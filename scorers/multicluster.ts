import { z } from 'zod';
import type { Endpoint } from '../src/framework/endpoint.ts';
import {
  CLUSTER_KV_CACHE_USAGE,
  CLUSTER_QUEUE_SIZE,
  CUSTOM_METRICS,
} from '../src/framework/endpoint-attributes.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Scorers of endpoints that are clusters, by what the pickers of the clusters report. */

/** Prefers clusters with a shorter average queue; one that reports none scores 0. */
export const multiclusterQueue: ScorerDefinition = defineScorer({
  type: 'multicluster-queue-scorer',
  config: z.strictObject({}),
  create: () => ({
    score(endpoints) {
      const queues = endpoints.map((endpoint) => reported(endpoint, CLUSTER_QUEUE_SIZE));
      const known = queues.filter((queue) => queue !== undefined);
      const [least, most] = [Math.min(...known), Math.max(...known)];
      return queues.map((queue) => {
        if (queue === undefined) return 0;
        return most === least ? 1 : (most - queue) / (most - least);
      });
    },
  }),
});

/** Prefers clusters with more free KV memory on average; one that reports none scores 0. */
export const multiclusterKvCache: ScorerDefinition = defineScorer({
  type: 'multicluster-kv-cache-utilization-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints) =>
      endpoints.map((endpoint) =>
        Math.max(0, 1 - (reported(endpoint, CLUSTER_KV_CACHE_USAGE) ?? 1)),
      ),
  }),
});

function reported(endpoint: Endpoint, metric: string): number | undefined {
  return endpoint.attribute(CUSTOM_METRICS).get(metric);
}
