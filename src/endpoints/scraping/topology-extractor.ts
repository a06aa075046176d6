import { z } from 'zod';
import { type TopologyView, topologyKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import {
  TOPOLOGY_LEVELS,
  type TopologyLevel,
  type TopologyPlace,
} from '../../framework/topology.ts';

const labelName = z.string().min(1);
export interface TopologyLabels {
  readonly hostLabel: string;
  readonly rackLabel: string;
  /** A block is the racks on one switch. */
  readonly blockLabel: string;
  readonly zoneLabel: string;
  readonly regionLabel: string;
}

/** The reference's name of a label; where it is empty or missing, ours counts. */
const given = z.string().optional();

const config: z.ZodType<TopologyLabels> = z.lazy(() =>
  z
    .strictObject({
      hostLabel: labelName.default('kubernetes.io/hostname'),
      rackLabel: labelName.default('topology.kubernetes.io/rack'),
      blockLabel: labelName.default('topology.kubernetes.io/block'),
      zoneLabel: labelName.default('topology.kubernetes.io/zone'),
      regionLabel: labelName.default('topology.kubernetes.io/region'),
      hostname: given,
      rack: given,
      zone: given,
      region: given,
    })
    .transform(({ hostname, rack, zone, region, ...labels }) => ({
      hostLabel: hostname || labels.hostLabel,
      rackLabel: rack || labels.rackLabel,
      blockLabel: labels.blockLabel,
      zoneLabel: zone || labels.zoneLabel,
      regionLabel: region || labels.regionLabel,
    })),
);

/** Where endpoints stand, by their labels; by default those that Kubernetes puts on nodes. */
export const topologyExtractor: DataSourceDefinition = defineDataSource({
  type: 'topology-extractor',
  config,
  provides: (_config, name) => [topologyKey(name)],
  start(config, { name }) {
    const names = labelNames(config);
    /** Labels are immutable, so a place is computed once. */
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
    return { facts: [{ key: topologyKey(name), compute: () => view }], stop: () => undefined };
  },
});

export function labelNames(labels: TopologyLabels): Readonly<Record<TopologyLevel, string>> {
  return {
    host: labels.hostLabel,
    rack: labels.rackLabel,
    block: labels.blockLabel,
    zone: labels.zoneLabel,
    region: labels.regionLabel,
  };
}
