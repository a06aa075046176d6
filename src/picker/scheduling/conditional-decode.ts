import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import { hasPreference, IF_AVAILABLE } from '../../framework/preference.ts';
import type { Decider, Decision, SchedulingContext } from '../../framework/scheduling.ts';
import type { PluginInstances } from '../plan/create-plugins.ts';

/**
 * Throws RoutingError `not-cached` for a request that is to be served from a cache, or not at all.
 */
export type CacheGate = (decision: Decision, context: SchedulingContext) => void;

/** The decider by whose threshold a prompt counts as cached, where one is configured. */
const DECIDER = 'prefix-based-pd-decider';

/**
 * Refuses requests with `Prefer: if-available` whose endpoint does not hold their prompt: at least
 * a block of it, or so much that the decider would not have it computed elsewhere.
 */
export function cacheGate(
  instances: PluginInstances,
  cachedTokens: (endpoint: Endpoint, context: SchedulingContext) => number,
): CacheGate {
  const found = [...instances.values()].find(({ plugin }) => plugin.definition.type === DECIDER);
  const decider = found?.instance as Decider | undefined;
  return ({ primary }, context) => {
    if (!hasPreference(context.request.headers, IF_AVAILABLE)) return;
    const endpoint = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
    if (endpoint === undefined) return;
    const cached =
      decider === undefined
        ? cachedTokens(endpoint, context) > 0
        : !decider.separates(endpoint, context);
    if (cached) return;
    throw new RoutingError(
      'not-cached',
      `endpoint ${endpoint.id} does not hold the KV cache of this prompt, and the request asks for no other (Prefer: if-available)`,
    );
  };
}
