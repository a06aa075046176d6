import { z } from 'zod';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Outcome, Routed, Usage } from '../../src/framework/observer.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { cheaperIsBetter } from '../scores/normalize.ts';

/** Prompt tokens that a generated token counts for: as VTC (Sheng et al. 2024) and AIBrix. */
const OUTPUT_WEIGHT = 2;
/** The tenants that are remembered; the one that has been idle longest is forgotten first. */
const TENANTS_MAX = 10_000;

/**
 * The virtual token counter of VTC (Sheng et al. 2024), applied to endpoints instead of the order
 * of requests, as AIBrix does: a tenant's request goes where that tenant has been served the fewest
 * tokens, so that no tenant occupies an endpoint alone. A new tenant starts with 0 everywhere.
 */
export const virtualTokens: ScorerDefinition = defineScorer({
  type: 'virtual-tokens-scorer',
  config: z.strictObject({}),
  create() {
    const tenants = new Map<string, (number | undefined)[]>();
    const served = (tenant: string): (number | undefined)[] => {
      const known = tenants.get(tenant) ?? [];
      tenants.delete(tenant);
      tenants.set(tenant, known);
      const [oldest] = tenants.keys();
      if (tenants.size > TENANTS_MAX && oldest !== undefined) tenants.delete(oldest);
      return known;
    };
    return {
      score(endpoints, { request }) {
        const counters = tenants.get(request.fairnessId) ?? [];
        return cheaperIsBetter(endpoints.map(({ slot }) => 1 + (counters[slot] ?? 0)));
      },
      onRouted({ request, endpoint }: Routed) {
        const counters = served(request.fairnessId);
        counters[endpoint.slot] = (counters[endpoint.slot] ?? 0) + request.promptTokens;
      },
      onDone({ request, endpoint }: Routed, _at: number, _outcome: Outcome, usage?: Usage) {
        const counters = tenants.get(request.fairnessId);
        if (counters === undefined || usage === undefined) return;
        const tokens = OUTPUT_WEIGHT * usage.completionTokens;
        counters[endpoint.slot] = (counters[endpoint.slot] ?? 0) + tokens;
      },
      onEndpointRemoved({ slot }: Endpoint) {
        for (const counters of tenants.values()) counters[slot] = undefined;
      },
    };
  },
});
