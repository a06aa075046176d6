import { z } from 'zod';
import { HEADROOM_NEEDS, headroomOf } from '../../cost-model/slo-headroom.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { otherProducer } from '../parameters/producer-name.ts';

/**
 * Keeps the endpoints that are predicted to meet both objectives of the request. With probability
 * `epsilonExploreNeg` it keeps the others instead, so that their predictions stay up to date. Keeps
 * all where one of the two groups is empty.
 */
export const sloHeadroomTierFilter: FilterDefinition = defineFilter({
  type: 'slo-headroom-tier-filter',
  config: z.lazy(() =>
    z.strictObject({
      epsilonExploreNeg: z.number().min(0).max(1).default(0.01),
      /** Accepted for compatibility, without effect: the predictions are our own. */
      predictedLatencyProducerName: otherProducer,
      latencyPredictionInfoProducerName: otherProducer,
    }),
  ),
  needs: () => HEADROOM_NEEDS,
  create: ({ epsilonExploreNeg }) => ({
    filter(endpoints, context) {
      const meets = endpoints.map((endpoint) => {
        const { ttftMs, tpotMs } = headroomOf(endpoint, context);
        return ttftMs >= 0 && tpotMs >= 0;
      });
      if (!meets.includes(true) || !meets.includes(false)) return endpoints;
      const wanted = context.random.next() >= epsilonExploreNeg;
      return endpoints.filter((_endpoint, index) => meets[index] === wanted);
    },
  }),
});
