/** Levels that two servers can share, the nearest first. */
export const TOPOLOGY_LEVELS = ['host', 'rack', 'block', 'zone', 'region'] as const;
export type TopologyLevel = (typeof TOPOLOGY_LEVELS)[number];

/** The place of a server or a client. Unknown levels are left out. */
export type TopologyPlace = Partial<Readonly<Record<TopologyLevel, string>>>;

/** The nearest level that both are known to share; undefined for none. */
export function sharedLevel(a: TopologyPlace, b: TopologyPlace): TopologyLevel | undefined {
  return TOPOLOGY_LEVELS.find((level) => a[level] !== undefined && a[level] === b[level]);
}
