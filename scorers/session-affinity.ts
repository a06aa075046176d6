import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import {
  sessionAffinityConfig,
  sessionBindingOf,
  sessionHeaders,
} from '../src/plugins/parameters/session-affinity.ts';

/**
 * Prefers the endpoint that a session is bound to, whose cache holds its newest history: by a token that each response
 * gives and the next request brings, or by the session's id, remembered here.
 */
export const sessionAffinity: ScorerDefinition = defineScorer({
  type: 'session-affinity-scorer',
  config: sessionAffinityConfig,
  headers: sessionHeaders,
  create(config) {
    const binding = sessionBindingOf(config);
    return {
      ...binding,
      score: (endpoints, context) =>
        endpoints.map((endpoint) => (binding.isHome(endpoint, context) ? 1 : 0)),
    };
  },
});
