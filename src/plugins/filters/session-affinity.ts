import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import {
  sessionAffinityConfig,
  sessionBindingOf,
  sessionHeaders,
  sessionNeeds,
} from '../parameters/session-affinity-config.ts';

/** Keeps only the endpoint that a session belongs to. */
export const sessionAffinityFilter: FilterDefinition = affinityFilter('session-affinity-filter');

/** `session-affinity-filter` for endpoints that are clusters. */
export const multiclusterSessionAffinity: FilterDefinition = affinityFilter(
  'multicluster-session-affinity-filter',
);

function affinityFilter(type: string): FilterDefinition {
  return defineFilter({
    type,
    config: sessionAffinityConfig,
    needs: sessionNeeds,
    headers: sessionHeaders,
    create(config, runtime) {
      const binding = sessionBindingOf(config, runtime);
      return {
        ...binding,
        filter(endpoints, context) {
          const home = binding.homeOf(endpoints, context);
          return home === undefined ? endpoints : [home];
        },
      };
    },
  });
}
