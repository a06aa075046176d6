import type { Endpoint } from '../framework/endpoint.ts';
import type { Declined } from '../framework/plugin.ts';
import type { Decision, ScoredEndpoint } from '../framework/scheduling.ts';
import { disaggregationHeaders } from '../plugins/profile-handlers/disaggregation-headers.ts';
import type { CheckedDecision } from './read-decision.ts';

const PROFILE = 'remote';

/** An answer as a cycle's result, on the endpoints as they are by now. */
export function toDecision(
  { refuse, targets, prefill, headers }: CheckedDecision,
  endpoints: readonly Endpoint[],
  { decidedBy, targetsMax }: { readonly decidedBy: string; readonly targetsMax: number },
): Decision | Declined {
  if (refuse) {
    const primary = { kind: 'exhausted', profile: PROFILE, candidates: endpoints.length } as const;
    return { primary, headers, profiles: [primary], decidedBy };
  }
  const present = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const still = targets.flatMap(({ id, score }): readonly ScoredEndpoint[] => {
    const endpoint = present.get(id);
    return endpoint === undefined ? [] : [{ endpoint, score }];
  });
  const elsewhere = prefill === undefined ? undefined : present.get(prefill);
  const lost = still.length === 0 || (prefill !== undefined && elsewhere === undefined);
  if (lost) return { declined: 'endpoint-gone' };
  const stages = disaggregationHeaders({ prefill: elsewhere, encoders: [] });
  const best = still.slice(0, targetsMax);
  const primary = { kind: 'picked', profile: PROFILE, targets: best } as const;
  return {
    primary,
    profiles: [primary],
    prefill: elsewhere,
    headers: new Map([...headers, ...stages]),
    decidedBy,
  };
}
