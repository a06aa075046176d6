import type { Endpoint } from '../../framework/endpoint.ts';
import { invariant } from '../../framework/error.ts';
import {
  type ProfileHandler,
  type ProfileResult,
  type Scheduler,
  type SchedulingContext,
  type SchedulingProfile,
  type ScoredEndpoint,
  scoredOf,
  type Totals,
  type WeightedScorer,
} from '../../framework/scheduling.ts';
import { numberList } from '../../framework/values/number-list.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';
import {
  clampedScore,
  faultOfDecision,
  faultOfFiltered,
  faultOfPicked,
  faultOfScores,
} from './checked-results.ts';
import type { CacheGate } from './conditional-decode.ts';
import { best, inFlightScores, withoutHandler } from './fallbacks.ts';
import type { Shed } from './shedding.ts';

/** Encode, prefill and decode are three profiles. The bound ends an endless handler. */
const PROFILES_MAX = 8;
/** The scores of a scorer that returned nothing. */
const NO_SCORES: readonly number[] = [];

/**
 * A scheduler that runs the profiles that the handler asks for. A plugin that throws, or whose
 * result cannot be used, is left out of the decision and reported. Throws only RoutingError, with
 * which a plugin, `shed` or `gate` refuses the request.
 */
export function createScheduler(
  handler: ProfileHandler,
  faults: PluginFaults = new PluginFaults(),
  { shed, gate }: { readonly shed?: Shed | undefined; readonly gate?: CacheGate | undefined } = {},
): Scheduler {
  return {
    schedule(endpoints, context) {
      if (context.request.priority < 0) shed?.(endpoints, context);
      const done: ProfileResult[] = [];
      try {
        let profile = handler.next(done, context);
        while (profile !== undefined) {
          const peer = handler.peer?.(done);
          const profileContext = peer === undefined ? context : { ...context, peer };
          done.push(runProfile(profile, endpoints, profileContext, faults));
          invariant(done.length <= PROFILES_MAX, `it ran more than ${PROFILES_MAX} profiles`);
          profile = handler.next(done, context);
        }
        const decision = handler.conclude(done, context);
        const fault = faultOfDecision(decision, done, endpoints);
        if (fault === undefined) {
          gate?.(decision, context);
          return decision;
        }
        faults.report(handler, 'conclude', new Error(fault));
      } catch (error) {
        faults.reportOrRefuse(handler, 'next', error);
      }
      return withoutHandler(done, endpoints, context);
    },
  };
}

/** Filters, scores and picks. Nothing is measured here: the result says what each step did. */
function runProfile(
  profile: SchedulingProfile,
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  faults: PluginFaults,
): ProfileResult {
  const kept = filtered(profile, endpoints, context, faults);
  const eligible = kept.at(-1) ?? endpoints;
  if (eligible.length === 0) {
    const run = { profile, context, kept, scores: [], endpoints: [], totals: [] };
    return { kind: 'exhausted', profile: profile.name, candidates: endpoints.length, run };
  }
  const scores: (readonly number[] | undefined)[] = [];
  for (const { scorer } of profile.scorers) {
    try {
      scores.push(scorer.score(eligible, context) ?? NO_SCORES);
    } catch (error) {
      faults.reportOrRefuse(scorer, 'score', error);
      scores.push(undefined);
    }
  }
  const totals =
    weighted(profile, eligible.length, scores, faults) ?? inFlightScores(eligible, context);
  const targets = picked(profile, { endpoints: eligible, totals }, context, faults);
  const shown = scores.map((given) => given ?? eligible.map(() => Number.NaN));
  const run = { profile, context, kept, scores: shown, endpoints: eligible, totals };
  return { kind: 'picked', profile: profile.name, targets, run };
}

/** What each filter left, until none is left. */
function filtered(
  { filters }: SchedulingProfile,
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  faults: PluginFaults,
): readonly (readonly Endpoint[])[] {
  let eligible = endpoints;
  const kept: (readonly Endpoint[])[] = [];
  for (const { filter } of filters) {
    if (eligible.length === 0) break;
    try {
      const left = filter.filter(eligible, context);
      const fault = faultOfFiltered(left, eligible);
      if (fault === undefined) eligible = left;
      else faults.report(filter, 'filter', new Error(fault));
    } catch (error) {
      faults.reportOrRefuse(filter, 'filter', error);
    }
    kept.push(eligible);
  }
  return kept;
}

/**
 * The weighted sum of the scores of each of so many endpoints; undefined where the scores of none can be used.
 * Scores that cannot be used are reported, and become undefined.
 */
function weighted(
  { scorers }: SchedulingProfile,
  length: number,
  scores: (readonly number[] | undefined)[],
  faults: PluginFaults,
): readonly number[] | undefined {
  const totals = zeros(length);
  let usable = 0;
  for (let at = 0; at < scorers.length; at++) {
    const { weight, scorer } = scorers[at] as WeightedScorer;
    const given = scores[at];
    if (given === undefined) continue;
    const added = given.length === length ? add(given, weight, totals) : 'unusable';
    if (added !== 'unusable') {
      usable += 1;
      if (added === 'clamped') scores[at] = given.map(clampedScore);
      continue;
    }
    const fault = faultOfScores(given, length) ?? 'its scores cannot be read';
    faults.report(scorer, 'score', new RangeError(fault));
    scores[at] = undefined;
    // Its part is taken out by adding up the others anew, because subtracting it would leave a
    // rounding error.
    totals.fill(0);
    for (let before = 0; before < at; before++) {
      add(scores[before] ?? [], (scorers[before] as WeightedScorer).weight, totals);
    }
  }
  if (usable === 0 && scorers.length > 0) return undefined;
  return listOf(totals, length);
}

/**
 * One array for all decisions: each would make another, and nothing reads it after its decision.
 */
let sums = new Float64Array(64);

/** At least so many zeros, in memory that the next call uses again. */
function zeros(count: number): Float64Array {
  if (count > sums.length) sums = new Float64Array(2 * count);
  return sums.fill(0, 0, count);
}

/** The first `count` of them, in a list that is made at once as long as it will be. */
function listOf(numbers: Float64Array, count: number): readonly number[] {
  const list = numberList(count);
  for (let at = 0; at < count; at++) list[at] = numbers[at] as number;
  return list;
}

/** Adds scores, those outside [0, 1] clamped. Where one is unusable, some may have been added. */
function add(
  given: readonly number[],
  weight: number,
  totals: Float64Array,
): 'exact' | 'clamped' | 'unusable' {
  let clamped = false;
  for (let index = 0; index < given.length; index++) {
    const score = given[index];
    if (typeof score !== 'number' || !Number.isFinite(score)) return 'unusable';
    const inRange = clampedScore(score);
    if (inRange !== score) clamped = true;
    totals[index] = (totals[index] ?? 0) + weight * inRange;
  }
  return clamped ? 'clamped' : 'exact';
}

function picked(
  { picker }: SchedulingProfile,
  candidates: Totals,
  context: SchedulingContext,
  faults: PluginFaults,
): readonly ScoredEndpoint[] {
  try {
    const targets =
      picker.pickFrom?.(candidates, context) ?? picker.pick(scoredOf(candidates), context);
    const fault = faultOfPicked(targets, candidates.endpoints);
    if (fault === undefined) return targets;
    faults.report(picker, 'pick', new Error(fault));
  } catch (error) {
    faults.reportOrRefuse(picker, 'pick', error);
  }
  return best(scoredOf(candidates), context);
}
