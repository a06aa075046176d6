import type { Endpoint } from '../../framework/endpoint.ts';
import { hostOf } from '../../framework/values/server-address.ts';
import type { LabelQuery } from '../parameters/label-query.ts';

interface ShareOptions {
  readonly mode: 'sum' | 'max-role';
  readonly roles: readonly string[];
  readonly revisionLabelKey: string;
  readonly roleLabelKey: string;
  /** Which servers count. */
  readonly isInScope: LabelQuery;
}

type RoleCounts = ReadonlyMap<string, number>;

/**
 * The share of requests for each revision. The shares add up to 1 where any revision has a server
 * of each role; a revision that lacks a role has the share 0.
 */
export function revisionShares(
  endpoints: readonly Endpoint[],
  options: ShareOptions,
): ReadonlyMap<string, number> {
  const counts = countRoles(endpoints, options);
  const { roles, mode } = options;
  const covered = [...counts].filter(([, byRole]) => roles.every((role) => byRole.has(role)));
  const counted = mode === 'sum' ? roles : [largestRole(covered, roles)];
  const weights = new Map(
    covered.map(([revision, byRole]) => [revision, totalOf(byRole, counted)] as const),
  );
  let total = 0;
  for (const weight of weights.values()) total += weight;
  return new Map(
    [...counts.keys()].map((revision) => [revision, (weights.get(revision) ?? 0) / (total || 1)]),
  );
}

/** By revision and role, the number of servers: a server with several ports counts once. */
function countRoles(
  endpoints: readonly Endpoint[],
  { revisionLabelKey, roleLabelKey, isInScope }: ShareOptions,
): ReadonlyMap<string, RoleCounts> {
  const hosts = new Set<string>();
  const counts = new Map<string, Map<string, number>>();
  for (const { labels, address } of endpoints) {
    const revision = labels.get(revisionLabelKey) ?? '';
    const role = labels.get(roleLabelKey) ?? '';
    const host = [revision, role, hostOf(address)].join('\n');
    if (revision === '' || role === '' || hosts.has(host) || !isInScope(labels)) continue;
    hosts.add(host);
    const byRole = counts.get(revision) ?? new Map<string, number>();
    counts.set(revision, byRole.set(role, (byRole.get(role) ?? 0) + 1));
  }
  return counts;
}

/** The role with the most servers over all revisions, the first of equal ones. */
function largestRole(
  covered: readonly (readonly [string, RoleCounts])[],
  roles: readonly string[],
): string {
  let largest = '';
  let most = -1;
  for (const role of roles) {
    const servers = covered.reduce((sum, [, byRole]) => sum + totalOf(byRole, [role]), 0);
    if (servers > most) [largest, most] = [role, servers];
  }
  return largest;
}

function totalOf(byRole: RoleCounts, roles: readonly string[]): number {
  return roles.reduce((sum, role) => sum + (byRole.get(role) ?? 0), 0);
}
