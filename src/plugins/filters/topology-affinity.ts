import { z } from 'zod';
import { DEFAULT_TOPOLOGY_PRODUCER, topologyKey } from '../../framework/cycle-facts.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { sharedLevel, TOPOLOGY_LEVELS } from '../../framework/topology.ts';
import { producerName } from '../parameters/producer-name.ts';
import { topologyPlace } from '../parameters/topology-place.ts';

/**
 * Keeps endpoints that share at least the level `minAffinity` with the endpoint that another
 * profile has picked for the same request or, where there is none, with `own`. Keeps all where that
 * leaves none, or where there is neither.
 */
export const topologyAffinityFilter: FilterDefinition = defineFilter({
  type: 'topology-affinity-filter',
  config: z.lazy(() =>
    z.strictObject({
      minAffinity: z
        .enum([...TOPOLOGY_LEVELS, ''])
        .default('host')
        .transform((given) => given || 'host'),
      topologyProducerName: producerName(DEFAULT_TOPOLOGY_PRODUCER),
      own: topologyPlace.optional(),
    }),
  ),
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
