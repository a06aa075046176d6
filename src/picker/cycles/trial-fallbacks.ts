import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { Cycle } from './cycle.ts';

/**
 * The decision about the trial of an ejected endpoint, with as many fallbacks as another request
 * gets: a trial is the request that most likely needs one. `others` are the endpoints that work.
 */
export function withFallbacks(
  { request, candidates, all, at, generation }: Cycle,
  decision: Decision,
  others: readonly Endpoint[],
): Decision {
  const { core } = generation;
  const [trial] = candidates;
  // Another process was asked about this request once, and answered for all endpoints.
  if (trial === undefined || core.replacedBy !== undefined) return decision;
  const together = all.filter((each) => each === trial || others.includes(each));
  try {
    const context = core.contextOf(request, together, at);
    return behind(decision, core.scheduler.schedule(together, context));
  } catch (error) {
    // A plugin refuses the request now, which it let pass before.
    if (error instanceof RoutingError) return decision;
    throw error;
  }
}

/** The targets of `trial`, and then those of `ordinary`, as many as it has. */
function behind(trial: Decision, ordinary: Decision): Decision {
  const [tried, asUsual] = [trial.primary, ordinary.primary];
  if (tried.kind !== 'picked' || asUsual.kind !== 'picked') return trial;
  const count = Math.max(0, asUsual.targets.length - tried.targets.length);
  const isTried = (endpoint: Endpoint): boolean =>
    tried.targets.some((target) => target.endpoint === endpoint);
  const places = asUsual.targets
    .map(({ endpoint }, place) => (isTried(endpoint) ? -1 : place))
    .filter((place) => place >= 0)
    .slice(0, count);
  const placed = <T>(list: readonly T[]): readonly T[] =>
    list.filter((_, place) => places.includes(place));
  const { destinations: first } = trial;
  const primary = { ...tried, targets: [...tried.targets, ...placed(asUsual.targets)] };
  return {
    ...trial,
    primary,
    profiles: trial.profiles.map((each) => (each === tried ? primary : each)),
    ...(first && { destinations: [...first, ...placed(ordinary.destinations ?? [])] }),
  };
}
