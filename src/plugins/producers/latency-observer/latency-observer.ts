import { z } from 'zod';
import { LATENCY_OBSERVER, latencyAnchorsKey } from '../../../framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../../../framework/endpoint.ts';
import { type DataSourceDefinition, defineDataSource } from '../../../framework/plugin.ts';
import { duration } from '../../parameters/duration.ts';
import { otherProducer } from '../../parameters/producer-name.ts';
import { EndpointLatencies } from './endpoint-latencies.ts';

const aboveZero = duration.refine((millis) => millis > 0, 'must be above 0');

const config = z.lazy(() =>
  z
    .strictObject({
      inFlightLoadProducerName: otherProducer,
      intervalDuration: aboveZero.default(1000),
      windowSize: z.int().positive().default(5000),
      maxObservationAge: aboveZero.default(180_000),
      maxRequests: z.int().positive().default(100),
      minRequests: z.int().positive().default(10),
      lowPercentile: z.int().positive().default(25),
      typicalPercentile: z.int().max(99).default(50),
      bucketDuration: aboveZero.default(60_000),
      bucketHistorySize: z.int().min(2).default(1000),
    })
    .refine(({ maxRequests, windowSize }) => maxRequests <= windowSize, {
      path: ['maxRequests'],
      message: 'must be at most windowSize',
    })
    .refine(({ lowPercentile, typicalPercentile }) => lowPercentile < typicalPercentile, {
      path: ['lowPercentile'],
      message: 'must be below typicalPercentile',
    }),
);

/**
 * Observes the times to the first token of each endpoint, and the requests that were in flight
 * there. It gives the time of an endpoint without load and at two loads, from streamed
 * answers alone: for endpoints without a metrics page, such as whole clusters.
 */
export const latencyObserver: DataSourceDefinition = defineDataSource({
  type: LATENCY_OBSERVER,
  config,
  provides: (_config, name) => [latencyAnchorsKey(name)],
  start(parsed, { name, runtime }) {
    const bySlot: (EndpointLatencies | undefined)[] = [];
    const endpoints = new Map<number, EndpointId>();
    return {
      facts: [
        {
          key: latencyAnchorsKey(name),
          compute: (_endpoints, { now }) => ({
            anchorsOf: ({ slot }: Endpoint) => bySlot[slot]?.anchors(now),
          }),
        },
      ],
      onEndpointAdded({ slot, id }) {
        endpoints.set(slot, id);
        bySlot[slot] = new EndpointLatencies(parsed, runtime.clock.now());
      },
      onEndpointRemoved({ slot }) {
        endpoints.delete(slot);
        bySlot[slot] = undefined;
      },
      onFirstToken({ endpoint, firstTokenVisible, load, at: sentAt }, at) {
        // The end of an answer that is not streamed says nothing about its first token.
        if (!firstTokenVisible) return;
        const { requests } = load;
        bySlot[endpoint.slot]?.add({ ttftMs: at - sentAt, requests, at });
      },
      describeState: () => ({
        endpoints: [...endpoints].map(([slot, endpoint]) => ({
          endpoint,
          ...bySlot[slot]?.describe(runtime.clock.now()),
        })),
      }),
      stop: () => undefined,
    };
  },
});
