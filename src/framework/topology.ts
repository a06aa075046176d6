import type { Endpoint } from './endpoint.ts';
import { type CycleKey, cycleKey } from './scheduling.ts';

/** From the nearest to the farthest that two servers may have in common. */
export const TOPOLOGY_LEVELS = ['host', 'rack', 'block', 'zone', 'region'] as const;
export type TopologyLevel = (typeof TOPOLOGY_LEVELS)[number];

/** Where a server, or whoever asks for one, stands; levels that are not known are left out. */
export type TopologyPlace = Partial<Readonly<Record<TopologyLevel, string>>>;

export interface TopologyView {
  placeOf(endpoint: Endpoint): TopologyPlace;
}

export const DEFAULT_TOPOLOGY_PRODUCER = 'topology-extractor';

/** Where endpoints stand, as told by the producer with this name. */
export function topologyKey(producer: string = DEFAULT_TOPOLOGY_PRODUCER): CycleKey<TopologyView> {
  return cycleKey(`topology/${producer}`);
}

/** The nearest level that both are known to have in common; undefined for none. */
export function sharedLevel(a: TopologyPlace, b: TopologyPlace): TopologyLevel | undefined {
  return TOPOLOGY_LEVELS.find((level) => a[level] !== undefined && a[level] === b[level]);
}
