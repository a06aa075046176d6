import { z } from 'zod';
import {
  IN_FLIGHT,
  LATENCY_OBSERVER,
  type LatencyAnchors,
  latencyAnchorsKey,
} from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { otherProducer, producerName } from '../src/plugins/parameters/producer-name.ts';

interface Prediction {
  /** Undefined where nothing is known of the endpoint. */
  readonly ttftMs: number | undefined;
  readonly calibrated: boolean;
}

/**
 * Prefers the least time to the first token, as observed at each endpoint and carried over to the
 * requests that are in flight there now. Endpoints of which too little is known get a request at
 * random with `explorationRate`, and none otherwise while others are known.
 */
export const latencyObservation: ScorerDefinition = defineScorer({
  type: 'latency-observation-scorer-hub',
  config: z.lazy(() =>
    z.strictObject({
      explorationRate: z.number().min(0).max(1).default(0.1),
      /** Loads that differ by fewer requests say nothing about the slope between them. */
      minInflightGap: z.number().positive().default(2),
      /** In seconds: predictions that differ by less are equal. 0 compares them as they are. */
      roundTTFTStep: z.number().nonnegative().default(0),
      ttftPercentilesProducerName: producerName(LATENCY_OBSERVER),
      inFlightLoadProducerName: otherProducer,
    }),
  ),
  needs: ({ ttftPercentilesProducerName }) => [
    IN_FLIGHT,
    latencyAnchorsKey(ttftPercentilesProducerName),
  ],
  create: ({ explorationRate, minInflightGap, roundTTFTStep, ttftPercentilesProducerName }) => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const observed = context.get(latencyAnchorsKey(ttftPercentilesProducerName));
      const stepMs = roundTTFTStep * 1000;
      const predictions = endpoints.map((endpoint): Prediction => {
        const anchors = observed.anchorsOf(endpoint);
        if (anchors === undefined) return { ttftMs: undefined, calibrated: false };
        const { calibrated, floorMs } = anchors;
        const { requests } = inFlight.load(endpoint);
        const ttftMs = calibrated ? predictedMs(anchors, requests, minInflightGap) : floorMs;
        return {
          ttftMs: stepMs > 0 ? Math.round(ttftMs / stepMs) * stepMs : ttftMs,
          calibrated,
        };
      });
      const known = predictions.flatMap(({ ttftMs }) => ttftMs ?? []);
      if (known.length === 0) return endpoints.map(() => 1);
      const [least, most] = [Math.min(...known), Math.max(...known)];
      const someCalibrated = predictions.some(({ calibrated }) => calibrated);
      return predictions.map(({ ttftMs = least, calibrated }) => {
        if (!calibrated && explorationRate > 0) {
          if (context.random.next() < explorationRate) return 1;
          if (someCalibrated) return 0;
        }
        return most === least ? 1 : (most - ttftMs) / (most - least);
      });
    },
  }),
});

/** The time at this load, on lines through the floor at no load and the observed points. */
function predictedMs(
  { floorMs, low, typical }: LatencyAnchors,
  requests: number,
  minInflightGap: number,
): number {
  const usesLow =
    low.requests > 0 &&
    low.ttftMs > floorMs &&
    typical.ttftMs > low.ttftMs &&
    typical.requests - low.requests >= minInflightGap;
  const idle = { requests: 0, ttftMs: floorMs };
  let [from, to] = [idle, typical];
  if (usesLow && requests < low.requests) to = low;
  else if (usesLow) from = low;
  const slope = (to.ttftMs - from.ttftMs) / (to.requests - from.requests);
  return Math.max(floorMs, from.ttftMs + (requests - from.requests) * slope);
}
