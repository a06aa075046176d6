import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import { RoutingError } from '../../framework/error.ts';
import { type DataSourceDefinition, defineAdmitter } from '../../framework/plugin.ts';

interface Bounds {
  readonly queueDepthThreshold: number;
  readonly kvCacheUtilThreshold: number;
}

/**
 * Refuses requests of negative priority with probability `k × saturation^power`, at most 1: the
 * fuller the pool, the more of them.
 */
export const probabilisticAdmitter: DataSourceDefinition = defineAdmitter({
  type: 'probabilistic-admitter',
  config: z.lazy(() =>
    z.strictObject({
      queueDepthThreshold: z.int().positive().default(5),
      kvCacheUtilThreshold: z.number().positive().default(0.8),
      power: z.number().positive().default(5),
      k: z.number().positive().default(300),
    }),
  ),
  start: ({ power, k, ...bounds }, { name }) => ({
    admit(endpoints, { request, random }) {
      if (request.priority >= 0) return;
      const saturation = saturationOf(endpoints, bounds);
      const probability = Math.min(1, k * saturation ** power);
      if (random.fork(name).next() >= probability) return;
      throw new RoutingError(
        'saturated',
        `the pool is ${Math.round(100 * saturation)} % saturated and the priority of this request is ${request.priority}: such requests are refused with probability ${probability.toFixed(2)}`,
      );
    },
    stop: () => undefined,
  }),
});

/**
 * The mean over the endpoints of the fuller of queue, for each of its engines, and KV memory; an
 * unknown one counts as 1.
 */
function saturationOf(
  endpoints: readonly Endpoint[],
  { queueDepthThreshold, kvCacheUtilThreshold }: Bounds,
): number {
  let total = 0;
  for (const endpoint of endpoints) {
    const { metrics } = endpoint;
    const known = metrics.sampledAt > Number.NEGATIVE_INFINITY;
    const queueMax = queueDepthThreshold * endpoint.attribute(ENGINE_COUNT);
    const queue = metrics.waitingQueueSize / queueMax;
    total += known ? Math.max(queue, metrics.kvCacheUsage / kvCacheUtilThreshold) : 1;
  }
  return total / endpoints.length;
}
