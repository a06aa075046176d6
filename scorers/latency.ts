import { z } from 'zod';
import { HEADROOM_NEEDS, type Headroom, headroomOf } from '../src/cost-model/slo-headroom.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { IN_FLIGHT } from '../src/framework/keys.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

/** Scores lie between this and 1, so that the best of a bucket beats every endpoint outside it. */
const SCORE_MIN = 0.01;
const NEUTRAL = 0.5;

interface Candidate {
  readonly headroom: Headroom;
  readonly requests: number;
}

/**
 * By how much an endpoint is predicted to meet the request's objectives. Of those that meet both, `least` prefers the
 * tightest fit, which leaves room elsewhere, and `most` the widest. Where nobody does: those with nothing in flight, else
 * those that miss one objective, else all, the least miss first. The others get 0.
 */
export const latency: ScorerDefinition = defineScorer({
  type: 'latency-scorer',
  config: z
    .strictObject({
      ttftWeight: z.number().nonnegative().default(0.8),
      tpotWeight: z.number().nonnegative().default(0.2),
      headroomSelectionStrategy: z.enum(['least', 'most']).default('least'),
      // For endpoints that nothing is predicted of: our own model predicts for all.
      compositeKVWeight: z.number().nonnegative().default(1),
      compositeQueueWeight: z.number().nonnegative().default(1),
      compositePrefixWeight: z.number().nonnegative().default(1),
      predictedLatencyProducerName: z.string().optional(),
    })
    .refine(
      ({ ttftWeight, tpotWeight }) => ttftWeight + tpotWeight > 0,
      'weights must not both be 0',
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
      // A dimension in which all are alike says nothing.
      const [a, b] = [ttft === undefined ? 0 : ttftWeight, tpot === undefined ? 0 : tpotWeight];
      const least = headroomSelectionStrategy === 'least' || !meets;
      let next = 0;
      return bucket.map((isIn) => {
        if (!isIn) return 0;
        const combined =
          a + b === 0 ? NEUTRAL : (a * (ttft?.[next] ?? 0) + b * (tpot?.[next] ?? 0)) / (a + b);
        next += 1;
        return SCORE_MIN + (1 - SCORE_MIN) * (least ? 1 - combined : combined);
      });
    },
  }),
});

/** Who gets a score at all. */
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

/** How far each is from 0, scaled to 0 for the nearest and 1 for the farthest; undefined where all are as far. */
function distances(values: readonly number[]): readonly number[] | undefined {
  const far = values.map(Math.abs);
  const [min, max] = [Math.min(...far), Math.max(...far)];
  return max > min ? far.map((value) => (value - min) / (max - min)) : undefined;
}
