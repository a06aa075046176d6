import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type {
  Decision,
  ForeignDecision,
  ProfileResult,
  Scheduler,
} from '../../framework/scheduling.ts';

/** What a decision that was only looked on is said to be by. */
const OBSERVED = 'observed';

/**
 * Where another picker has decided, its decision; else `scheduler` decides. Throws RoutingError `no-endpoints` when the
 * other's destination is none of the candidates.
 */
export function followingScheduler(scheduler: Scheduler): Scheduler {
  return {
    schedule: (endpoints, context) =>
      context.decided === undefined
        ? scheduler.schedule(endpoints, context)
        : resultOf(context.decided, endpoints),
  };
}

function resultOf(
  { destination, prefill }: ForeignDecision,
  endpoints: readonly Endpoint[],
): Decision {
  const at = (wanted: string): Endpoint | undefined =>
    endpoints.find(({ address }) => address === wanted);
  const endpoint = at(destination);
  if (endpoint === undefined) {
    throw new RoutingError(
      'no-endpoints',
      `the picker in charge has chosen ${destination}, which is none of the ${endpoints.length} endpoints that may serve this request`,
    );
  }
  const targets = [{ endpoint, score: 0 }];
  const primary: ProfileResult = { kind: 'picked', profile: OBSERVED, targets };
  return {
    primary,
    profiles: [primary],
    headers: new Map(),
    decidedBy: OBSERVED,
    prefill: prefill === undefined ? undefined : at(prefill),
  };
}
