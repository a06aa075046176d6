import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { lowerMetricIsBetter } from './scores/normalize.ts';

/** Prefers endpoints with fewer requests in their batch. */
export const runningRequests: ScorerDefinition = defineScorer({
  type: 'running-requests-size-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints, { now }) =>
      lowerMetricIsBetter(endpoints, now, (metrics) => metrics.runningRequests),
  }),
});
