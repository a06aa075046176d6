import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import {
  TOPOLOGY_LEVELS,
  type TopologyPlace,
  type TopologyView,
  topologyKey,
} from '../../framework/topology.ts';

const labelName = z.string().min(1);

/** Where endpoints stand, by the labels that Kubernetes puts on nodes unless others are named. */
export const topologyExtractor: DataSourceDefinition = defineDataSource({
  type: 'topology-extractor',
  config: z.strictObject({
    hostLabel: labelName.default('kubernetes.io/hostname'),
    rackLabel: labelName.default('topology.kubernetes.io/rack'),
    zoneLabel: labelName.default('topology.kubernetes.io/zone'),
    regionLabel: labelName.default('topology.kubernetes.io/region'),
  }),
  provides: (_config, name) => [topologyKey(name)],
  start({ hostLabel, rackLabel, zoneLabel, regionLabel }, { name }) {
    const names = { host: hostLabel, rack: rackLabel, zone: zoneLabel, region: regionLabel };
    /** Labels do not change in place: a place is worked out once. */
    const places = new WeakMap<Endpoint['labels'], TopologyPlace>();
    const placeOf = ({ labels }: Endpoint): TopologyPlace => {
      const known = places.get(labels);
      if (known !== undefined) return known;
      const place = Object.fromEntries(
        TOPOLOGY_LEVELS.flatMap((level) => {
          const value = labels.get(names[level]) ?? '';
          return value === '' ? [] : [[level, value]];
        }),
      ) as TopologyPlace;
      places.set(labels, place);
      return place;
    };
    const view: TopologyView = { placeOf };
    return {
      facts: [{ key: topologyKey(name), compute: () => view }],
      stop: () => undefined,
    };
  },
});
