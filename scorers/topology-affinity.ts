import { z } from 'zod';
import { DEFAULT_TOPOLOGY_PRODUCER, topologyKey } from '../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import { sharedLevel, type TopologyLevel } from '../src/framework/topology.ts';
import { producerName } from '../src/plugins/parameters/producer-name.ts';
import { topologyPlace } from '../src/plugins/parameters/topology-place.ts';

/** The reference's scores, about how links compare; ours for blocks, the racks of one switch. */
const SCORES: Readonly<Record<TopologyLevel, number>> = {
  host: 1,
  rack: 0.2,
  block: 0.1,
  zone: 0.05,
  region: 0.02,
};

/**
 * Prefers endpoints near the one that another profile has picked for the same request. Where there
 * is none, it prefers those near `own`, the place of the picker and of the clients' proxy; without
 * `own` all endpoints score 0.
 */
export const topologyAffinity: ScorerDefinition = defineScorer({
  type: 'topology-affinity-scorer',
  config: z.lazy(() =>
    z.strictObject({
      topologyProducerName: producerName(DEFAULT_TOPOLOGY_PRODUCER),
      own: topologyPlace.optional(),
    }),
  ),
  needs: ({ topologyProducerName }) => [topologyKey(topologyProducerName)],
  create: ({ topologyProducerName, own }) => ({
    score(endpoints, context) {
      const topology = context.get(topologyKey(topologyProducerName));
      const near = context.peer === undefined ? own : topology.placeOf(context.peer);
      return endpoints.map((endpoint) => {
        const level = near && sharedLevel(topology.placeOf(endpoint), near);
        return level === undefined ? 0 : SCORES[level];
      });
    },
  }),
});
