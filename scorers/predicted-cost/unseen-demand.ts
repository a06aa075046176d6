import type { Demand, EngineModelView } from '../../src/framework/cycle-facts.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Millis } from '../../src/framework/runtime.ts';

/** What would add so little to the demand is left out: it is summed in the first minutes alone. */
const UNSEEN_MIN = 0.01;
const NONE: Demand = { requests: 0, workMs: 0 };

/**
 * What each endpoint counts as having got in the part of the last half minute that was before the
 * first request: the mean of all that are scored together, at the rate since then. What one of them
 * alone has got says little at first, and nothing where it is none.
 */
export function unseenDemand(
  scored: readonly Endpoint[],
  model: Pick<EngineModelView, 'demand' | 'unseenTimes'>,
  now: Millis,
): Demand {
  const times = model.unseenTimes?.(now) ?? 0;
  if (times < UNSEEN_MIN) return NONE;
  let [requests, workMs] = [0, 0];
  for (const endpoint of scored) {
    const demand = model.demand(endpoint);
    requests += demand.requests;
    workMs += demand.workMs;
  }
  const share = times / scored.length;
  return { requests: share * requests, workMs: share * workMs };
}
