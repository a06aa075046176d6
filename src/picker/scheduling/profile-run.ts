import type { Endpoint } from '../../framework/endpoint.ts';
import type {
  ProfileResult,
  SchedulingContext,
  SchedulingProfile,
  WeightedScorer,
} from '../../framework/scheduling.ts';

/** Filter, score, pick: the one loop everything else exists to feed. */
export function runProfile(
  profile: SchedulingProfile,
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
): ProfileResult {
  let eligible = endpoints;
  for (const { filter } of profile.filters) {
    if (eligible.length === 0) break;
    eligible = filter.filter(eligible, context);
  }
  if (eligible.length === 0) {
    return { kind: 'exhausted', profile: profile.name, candidates: endpoints.length };
  }
  const totals = weightedTotals(profile.scorers, eligible, context);
  const scored = eligible.map((endpoint, index) => ({ endpoint, score: totals[index] ?? 0 }));
  return { kind: 'picked', profile: profile.name, targets: profile.picker.pick(scored, context) };
}

function weightedTotals(
  scorers: readonly WeightedScorer[],
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
): readonly number[] {
  const totals = endpoints.map(() => 0);
  for (const { name, weight, scorer } of scorers) {
    const scores = scorer.score(endpoints, context);
    if (scores.length !== totals.length) {
      throw new RangeError(`scorer ${name} gave ${scores.length} scores for ${totals.length}`);
    }
    for (let index = 0; index < totals.length; index++) {
      const score = scores[index] ?? Number.NaN;
      if (!(score >= 0 && score <= 1))
        throw new RangeError(`scorer ${name} gave ${score}, not in [0, 1]`);
      totals[index] = (totals[index] ?? 0) + weight * score;
    }
  }
  return totals;
}
