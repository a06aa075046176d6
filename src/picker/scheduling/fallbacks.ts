import { IN_FLIGHT } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import {
  type Decision,
  type ProfileResult,
  type SchedulingContext,
  type ScoredEndpoint,
  scoredOf,
} from '../../framework/scheduling.ts';

/** The name of the profile that stands for a handler that failed. */
const IN_FLIGHT_PROFILE = 'in-flight-load';

/** Scores for endpoints that nothing else scores: the fewer requests in flight, the higher. */
export function inFlightScores(
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
): readonly number[] {
  const inFlight = context.get(IN_FLIGHT);
  return endpoints.map((endpoint) => 1 / (1 + inFlight.load(endpoint).requests));
}

/** The highest score, in place of a picker that failed. Equals have equal chances. */
export function best(
  candidates: readonly ScoredEndpoint[],
  { random }: SchedulingContext,
): readonly ScoredEndpoint[] {
  const highest = Math.max(...candidates.map(({ score }) => score));
  const equals = candidates.filter(({ score }) => score === highest);
  const drawn = equals[Math.floor(random.next() * equals.length)];
  return drawn === undefined ? [] : [drawn];
}

/**
 * The decision in place of a profile handler that failed: what the first profile picked, or the
 * first pick of another. Where no profile ran, the endpoint with the least in flight.
 */
export function withoutHandler(
  done: readonly ProfileResult[],
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
): Decision {
  const headers = new Map<string, string>();
  const ran = done.find(({ kind }) => kind === 'picked') ?? done[0];
  if (ran !== undefined) return { primary: ran, headers, profiles: done };
  const targets = best(
    scoredOf({ endpoints, totals: inFlightScores(endpoints, context) }),
    context,
  );
  const primary: ProfileResult = { kind: 'picked', profile: IN_FLIGHT_PROFILE, targets };
  return { primary, headers, profiles: done };
}
