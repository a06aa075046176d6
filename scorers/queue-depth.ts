import { z } from 'zod';
import { lowerMetricIsBetter } from '../src/framework/metric-scores.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Prefers endpoints with fewer requests waiting for a batch slot. */
export const queueDepth: ScorerDefinition = defineScorer({
  type: 'queue-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints, { now }) =>
      lowerMetricIsBetter(endpoints, now, ({ waitingQueueSize }) => waitingQueueSize),
  }),
});
