import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { metricScore } from './scores/normalize.ts';

/** Prefers endpoints with a short queue: 0.5 when empty, 0 from `threshold` waiting requests on. */
export const loadAware: ScorerDefinition = defineScorer({
  type: 'load-aware-scorer',
  config: z.strictObject({ threshold: z.number().positive().default(128) }),
  create: ({ threshold }) => ({
    score: (endpoints, { now }) =>
      metricScore(
        endpoints,
        now,
        ({ waitingQueueSize }) => 0.5 * (1 - Math.min(waitingQueueSize, threshold) / threshold),
      ),
  }),
});
