import { z } from 'zod';
import { countedTokens, IN_FLIGHT } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { textDuration } from '../parameters/duration.ts';
import { otherProducer } from '../parameters/producer-name.ts';

/** The reference's saturation detectors as filters. */

/** Keeps fresh endpoints with queue and KV memory below their bounds; all if that leaves none. */
export const utilizationDetector: FilterDefinition = defineFilter({
  type: 'utilization-detector',
  config: z.lazy(() =>
    z.strictObject({
      queueDepthThreshold: z.int().positive().default(5),
      kvCacheUtilThreshold: z.number().positive().max(1).default(0.8),
      metricsStalenessThreshold: textDuration
        .refine((given) => given > 0, 'must be longer than 0')
        .default(200),
      /** For saturation only: the filter always drops endpoints with old samples. */
      stalenessPolicy: z.enum(['saturated', 'ignore']).optional(),
      headroom: z.number().nonnegative().default(0),
      inFlightLoadProducerName: otherProducer,
    }),
  ),
  create: ({ queueDepthThreshold, kvCacheUtilThreshold, metricsStalenessThreshold, headroom }) => {
    const [queueMax, kvMax] = [
      queueDepthThreshold * (1 + headroom),
      kvCacheUtilThreshold * (1 + headroom),
    ];
    return {
      filter(endpoints, { now }) {
        const below = endpoints.filter((endpoint) => {
          const { sampledAt, waitingQueueSize, kvCacheUsage } = endpoint.metrics;
          if (now - sampledAt > metricsStalenessThreshold || kvCacheUsage >= kvMax) return false;
          // The bound is that of each engine: the reference reads the queue of one.
          return (
            waitingQueueSize < queueMax ||
            waitingQueueSize < queueMax * endpoint.attribute(ENGINE_COUNT)
          );
        });
        return below.length === 0 ? endpoints : below;
      },
    };
  },
});

/** Keeps endpoints with fewer of our requests, or tokens, in flight than the bound. */
export const concurrencyDetector: FilterDefinition = defineFilter({
  type: 'concurrency-detector',
  config: z.lazy(() =>
    z.strictObject({
      concurrencyMode: z.enum(['requests', 'tokens', 'hybrid']).default('requests'),
      maxConcurrency: z.int().positive().default(100),
      maxTokenConcurrency: z.int().positive().default(1_000_000),
      headroom: z.number().nonnegative().default(0),
      inFlightLoadProducerName: otherProducer,
    }),
  ),
  needs: () => [IN_FLIGHT],
  create: ({ concurrencyMode, maxConcurrency, maxTokenConcurrency, headroom }) => ({
    filter(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const isBelow = (endpoint: Endpoint): boolean => {
        const load = inFlight.load(endpoint);
        const requestsBelow = load.requests < maxConcurrency * (1 + headroom);
        const tokensBelow = countedTokens(load) < maxTokenConcurrency * (1 + headroom);
        if (concurrencyMode === 'requests') return requestsBelow;
        return concurrencyMode === 'tokens' ? tokensBelow : requestsBelow && tokensBelow;
      };
      return endpoints.filter(isBelow);
    },
  }),
});
