import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { lowerMetricIsBetter } from './scores/normalize.ts';

/** Prefers endpoints with fewer requests waiting for a batch slot. */
export const queue: ScorerDefinition = defineScorer({
  type: 'queue-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints, { now }) =>
      lowerMetricIsBetter(endpoints, now, ({ waitingQueueSize }) => waitingQueueSize),
  }),
});
