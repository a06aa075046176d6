import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import {
  sessionAffinityConfig,
  sessionBindingOf,
  sessionHeaders,
  sessionNeeds,
} from '../src/plugins/parameters/session-affinity-config.ts';

/**
 * Prefers the endpoint that a session is bound to, whose cache holds the session's latest history.
 * The binding is a token that each response gives and the next request sends back, or is remembered
 * here by the session's id. A new session with an id prefers the endpoint with the fewest sessions.
 */
export const sessionAffinity: ScorerDefinition = defineScorer({
  type: 'session-affinity-scorer',
  config: sessionAffinityConfig,
  needs: sessionNeeds,
  headers: sessionHeaders,
  create(config, runtime) {
    const binding = sessionBindingOf(config, runtime);
    return {
      ...binding,
      score(endpoints, context) {
        const home = binding.homeOf(endpoints, context);
        return endpoints.map((endpoint) => (endpoint === home ? 1 : 0));
      },
    };
  },
});
