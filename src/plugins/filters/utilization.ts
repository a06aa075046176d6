import { z } from 'zod';
import { IN_FLIGHT, type InFlightView } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

const METRICS = [
  'active-requests',
  'running-requests',
  'waiting-queue',
  'kv-cache-utilization',
] as const;
type Metric = (typeof METRICS)[number];

/** Drops endpoints with a metric above its `maxValue`; none where `fallbackOnEmpty` and all are. */
export const utilizationFilter: FilterDefinition = defineFilter({
  type: 'utilization-filter',
  config: z.lazy(() =>
    z.strictObject({
      conditions: z.array(z.strictObject({ metric: z.enum(METRICS), maxValue: z.number() })).min(1),
      fallbackOnEmpty: z.boolean().default(false),
      /** Accepted for compatibility, without effect: the picker has one ledger. */
      inFlightLoadProducerName: z.string().optional(),
    }),
  ),
  needs: () => [IN_FLIGHT],
  create: ({ conditions, fallbackOnEmpty }) => ({
    filter(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const within = endpoints.filter((endpoint) =>
        conditions.every(({ metric, maxValue }) => valueOf(metric, endpoint, inFlight) <= maxValue),
      );
      return within.length === 0 && fallbackOnEmpty ? endpoints : within;
    },
  }),
});

function valueOf(metric: Metric, endpoint: Endpoint, inFlight: InFlightView): number {
  const { runningRequests, waitingQueueSize, kvCacheUsage } = endpoint.metrics;
  switch (metric) {
    case 'active-requests':
      return inFlight.load(endpoint).requests;
    case 'running-requests':
      return runningRequests;
    case 'waiting-queue':
      return waitingQueueSize;
    case 'kv-cache-utilization':
      return kvCacheUsage;
  }
}
