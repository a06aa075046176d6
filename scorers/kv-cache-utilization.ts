import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { metricScore } from './scores/normalize.ts';

/** Prefers endpoints with more free KV memory: the free share is the score. */
export const kvCacheUtilization: ScorerDefinition = defineScorer({
  type: 'kv-cache-utilization-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints, { now }) =>
      metricScore(endpoints, now, ({ kvCacheUsage }) => 1 - kvCacheUsage),
  }),
});
