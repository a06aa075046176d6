import type { Endpoint } from '../../framework/endpoint.ts';
import { invariant } from '../../framework/error.ts';
import type {
  ProfileHandler,
  ProfileResult,
  Scheduler,
  SchedulingContext,
  SchedulingProfile,
  ScoredEndpoint,
  WeightedScorer,
} from '../../framework/scheduling.ts';

/** Encode, prefill and decode are three profiles. The bound ends an endless handler. */
const PROFILES_MAX = 8;

/** A scheduler that runs the profiles that the handler asks for. */
export function createScheduler(handler: ProfileHandler): Scheduler {
  return {
    schedule(endpoints, context) {
      const done: ProfileResult[] = [];
      let profile = handler.next(done, context);
      while (profile !== undefined) {
        const peer = handler.peer?.(done);
        const profileContext = peer === undefined ? context : { ...context, peer };
        done.push(runProfile(profile, endpoints, profileContext));
        invariant(
          done.length <= PROFILES_MAX,
          `the profile handler ran more than ${PROFILES_MAX} profiles`,
        );
        profile = handler.next(done, context);
      }
      return handler.conclude(done, context);
    },
  };
}

/**
 * Filters, scores and picks. Throws RangeError for a scorer that does not return one score in [0,
 * 1] for each endpoint. Nothing is measured here: the result says what each step did.
 */
function runProfile(
  profile: SchedulingProfile,
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
): ProfileResult {
  let eligible = endpoints;
  const kept: (readonly Endpoint[])[] = [];
  for (const { filter } of profile.filters) {
    if (eligible.length === 0) break;
    eligible = filter.filter(eligible, context);
    kept.push(eligible);
  }
  if (eligible.length === 0) {
    const run = { profile, context, kept, scores: [], scored: [] };
    return { kind: 'exhausted', profile: profile.name, candidates: endpoints.length, run };
  }
  const scores: (readonly number[])[] = [];
  for (const { name, scorer } of profile.scorers) {
    const given = scorer.score(eligible, context);
    if (given.length !== eligible.length) {
      throw new RangeError(
        `scorer ${name} gave ${given.length} scores for ${eligible.length} endpoints`,
      );
    }
    scores.push(given);
  }
  const scored = weighted(profile, eligible, scores);
  const targets = profile.picker.pick(scored, context);
  const run = { profile, context, kept, scores, scored };
  return { kind: 'picked', profile: profile.name, targets, run };
}

/** The weighted sum of the scores of each endpoint. */
function weighted(
  { scorers }: SchedulingProfile,
  endpoints: readonly Endpoint[],
  scores: readonly (readonly number[])[],
): readonly ScoredEndpoint[] {
  const totals = endpoints.map(() => 0);
  for (let at = 0; at < scorers.length; at++) {
    const { name, weight } = scorers[at] as WeightedScorer;
    const given = scores[at] as readonly number[];
    for (let index = 0; index < totals.length; index++) {
      const score = given[index] ?? Number.NaN;
      if (!(score >= 0 && score <= 1)) {
        throw new RangeError(`scorer ${name} gave ${score}, which is not in [0, 1]`);
      }
      totals[index] = (totals[index] ?? 0) + weight * score;
    }
  }
  return endpoints.map((endpoint, index) => ({ endpoint, score: totals[index] ?? 0 }));
}
