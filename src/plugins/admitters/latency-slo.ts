import { z } from 'zod';
import { HEADROOM_NEEDS, headroomOf } from '../../cost-model/slo-headroom.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import { type DataSourceDefinition, defineAdmitter } from '../../framework/plugin.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';

/** Below this share of used KV memory an engine has hardly served yet: predictions are guesses. */
const COLD_KV_USAGE = 0.02;

/**
 * Refuses a request of negative priority where no endpoint is predicted to meet its objectives, and
 * none is idle, cold or unknown.
 */
export const latencySloAdmitter: DataSourceDefinition = defineAdmitter({
  type: 'latency-slo-admitter',
  config: z.strictObject({
    /** Accepted for compatibility, without effect: the predictions are our own. */
    latencyPredictionInfoProducerName: z.string().optional(),
  }),
  needs: () => HEADROOM_NEEDS,
  start: () => ({
    admit(endpoints, context) {
      const { priority, ttftSloMs, tpotSloMs } = context.request;
      if (priority >= 0 || (ttftSloMs === undefined && tpotSloMs === undefined)) return;
      if (endpoints.some((endpoint) => isFree(endpoint) || meetsObjectives(endpoint, context))) {
        return;
      }
      throw new RoutingError(
        'saturated',
        `none of ${endpoints.length} endpoints can meet the latency objectives of this request, whose priority is ${priority}`,
      );
    },
    stop: () => undefined,
  }),
});

/** Idle, cold, or never scraped. */
function isFree({ metrics }: Endpoint): boolean {
  return (
    metrics.runningRequests === 0 ||
    metrics.kvCacheUsage < COLD_KV_USAGE ||
    metrics.sampledAt === Number.NEGATIVE_INFINITY
  );
}

function meetsObjectives(endpoint: Endpoint, context: SchedulingContext): boolean {
  const { ttftSloMs, tpotSloMs } = context.request;
  const { ttftMs, tpotMs } = headroomOf(endpoint, context);
  return (ttftSloMs === undefined || ttftMs >= 0) && (tpotSloMs === undefined || tpotMs >= 0);
}
