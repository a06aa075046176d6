import { z } from 'zod';
import {
  DEFAULT_TOPOLOGY_PRODUCER,
  sharedLevel,
  TOPOLOGY_LEVELS,
  topologyKey,
} from '../../framework/keys.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { topologyPlace } from '../parameters/topology-place.ts';

/**
 * Keeps endpoints that share at least `minAffinity` with the one that another profile has picked for the same request;
 * where there is none, with `own`. All, where that leaves none or there is nothing to be near to.
 */
export const topologyAffinityFilter: FilterDefinition = defineFilter({
  type: 'topology-affinity-filter',
  config: z.strictObject({
    minAffinity: z.enum(TOPOLOGY_LEVELS).default('host'),
    topologyProducerName: z.string().min(1).default(DEFAULT_TOPOLOGY_PRODUCER),
    own: topologyPlace.optional(),
  }),
  needs: ({ topologyProducerName }) => [topologyKey(topologyProducerName)],
  create: ({ minAffinity, topologyProducerName, own }) => ({
    filter(endpoints, context) {
      const topology = context.get(topologyKey(topologyProducerName));
      const near = context.peer === undefined ? own : topology.placeOf(context.peer);
      if (near === undefined) return endpoints;
      const least = TOPOLOGY_LEVELS.indexOf(minAffinity);
      const kept = endpoints.filter((endpoint) => {
        const level = sharedLevel(topology.placeOf(endpoint), near);
        return level !== undefined && TOPOLOGY_LEVELS.indexOf(level) <= least;
      });
      return kept.length === 0 ? endpoints : kept;
    },
  }),
});
