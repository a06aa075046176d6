import { z } from 'zod';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { positiveOr } from '../src/plugins/parameters/positive-or.ts';
import { metricScore } from './scores/normalize.ts';

/** Prefers endpoints with a short queue: 0.5 when empty, 0 from `threshold` waiting requests on. */
export const loadAware: ScorerDefinition = defineScorer({
  type: 'load-aware-scorer',
  config: z.strictObject({ threshold: positiveOr(128) }),
  create: ({ threshold }) => ({
    score: (endpoints, { now }) =>
      metricScore(
        endpoints,
        now,
        ({ waitingQueueSize }) => 0.5 * (1 - Math.min(waitingQueueSize, threshold) / threshold),
      ),
  }),
});
