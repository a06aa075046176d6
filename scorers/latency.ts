import { z } from 'zod';
import { HEADROOM_NEEDS, headroomOf, type SloHeadroom } from '../src/cost-model/slo-headroom.ts';
import { IN_FLIGHT } from '../src/framework/cycle-facts.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { otherProducer } from '../src/plugins/parameters/producer-name.ts';

/** Scores in the bucket lie between this and 1: all of them beat endpoints outside it. */
const SCORE_MIN = 0.01;
const NEUTRAL = 0.5;

interface Candidate {
  readonly headroom: SloHeadroom;
  readonly requests: number;
}

/**
 * Scores by how far an endpoint is predicted to stay within the request's objectives. Among the
 * endpoints that meet both, `least` prefers the tightest fit, which leaves room elsewhere, and
 * `most` the widest. Where none meets both, the endpoints with nothing in flight count, else those
 * that miss one objective, else all, and the smallest miss is best. All other endpoints score 0.
 */
export const latency: ScorerDefinition = defineScorer({
  type: 'latency-scorer',
  config: z.lazy(() =>
    z
      .strictObject({
        /** Any number, as in the reference: scores below 0 count as 0, and those beyond 1 as 1. */
        ttftWeight: z.number().default(0.8),
        tpotWeight: z.number().default(0.2),
        /** Another text is `least`, as in the reference. */
        headroomSelectionStrategy: z
          .string()
          .default('least')
          .transform((given) => (given === 'most' ? 'most' : 'least')),
        // For endpoints without a prediction: without effect, since our own model predicts for all.
        compositeKVWeight: z.number().default(1),
        compositeQueueWeight: z.number().default(1),
        compositePrefixWeight: z.number().default(1),
        predictedLatencyProducerName: otherProducer,
        latencyPredictionInfoProducerName: otherProducer,
        prefixMatchInfoProducerName: otherProducer,
      })
      // Without a sum above 0 the first token counts alone, as in the reference.
      .transform((given) =>
        given.ttftWeight + given.tpotWeight > 0
          ? given
          : { ...given, ttftWeight: 1, tpotWeight: 0 },
      ),
  ),
  needs: () => HEADROOM_NEEDS,
  create: ({ ttftWeight, tpotWeight, headroomSelectionStrategy }) => ({
    score(endpoints, context) {
      const inFlight = context.get(IN_FLIGHT);
      const candidates = endpoints.map(
        (endpoint: Endpoint): Candidate => ({
          headroom: headroomOf(endpoint, context),
          requests: inFlight.load(endpoint).requests,
        }),
      );
      const bucket = bucketOf(candidates);
      const chosen = candidates.filter((_candidate, index) => bucket[index]);
      const meets = chosen.every(({ headroom }) => headroom.ttftMs >= 0 && headroom.tpotMs >= 0);
      const ttft = distances(chosen.map(({ headroom }) => headroom.ttftMs));
      const tpot = distances(chosen.map(({ headroom }) => headroom.tpotMs));
      // Where all endpoints are alike in one objective, the other counts alone, whatever its weight.
      const [a, b] =
        ttft === undefined ? [0, 1] : tpot === undefined ? [1, 0] : [ttftWeight, tpotWeight];
      const least = headroomSelectionStrategy === 'least' || !meets;
      let next = 0;
      return bucket.map((isIn) => {
        if (!isIn) return 0;
        const combined =
          ttft === undefined && tpot === undefined
            ? NEUTRAL
            : (a * (ttft?.[next] ?? 0) + b * (tpot?.[next] ?? 0)) / (a + b);
        next += 1;
        return SCORE_MIN + (1 - SCORE_MIN) * (least ? 1 - combined : combined);
      });
    },
  }),
});

/** The endpoints that get a score above 0. */
function bucketOf(candidates: readonly Candidate[]): readonly boolean[] {
  const tests: readonly ((candidate: Candidate) => boolean)[] = [
    ({ headroom }) => headroom.ttftMs >= 0 && headroom.tpotMs >= 0,
    ({ requests }) => requests === 0,
    ({ headroom }) => headroom.ttftMs >= 0,
    ({ headroom }) => headroom.tpotMs >= 0,
  ];
  for (const test of tests) {
    const bucket = candidates.map(test);
    if (bucket.includes(true)) return bucket;
  }
  return candidates.map(() => true);
}

/** Distances from 0, scaled to 0 for the nearest and 1 for the farthest; undefined if all equal. */
function distances(values: readonly number[]): readonly number[] | undefined {
  const far = values.map(Math.abs);
  const [min, max] = [Math.min(...far), Math.max(...far)];
  return max > min ? far.map((value) => (value - min) / (max - min)) : undefined;
}
