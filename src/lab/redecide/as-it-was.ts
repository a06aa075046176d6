import type { Endpoint } from '../../framework/endpoint.ts';
import type { SchedulingResult } from '../../framework/scheduling.ts';
import type { CapturedDecision } from '../../journal/capture/capture-record.ts';

/** The result with the endpoints that were really chosen, where they are still there. */
export function asItWas(
  own: SchedulingResult,
  endpoints: readonly Endpoint[],
  was: CapturedDecision | undefined,
): SchedulingResult {
  if (was === undefined || 'error' in was) return own;
  const endpoint = endpoints.find(({ id }) => id === was.endpoint);
  if (endpoint === undefined) return own;
  const { profile } = own.primary;
  const targets = [{ endpoint, score: was.score }];
  const prefill = endpoints.find(({ id }) => id === was.prefill);
  return { ...own, primary: { kind: 'picked', profile, targets }, prefill };
}
