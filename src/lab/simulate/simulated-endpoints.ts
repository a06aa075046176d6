import { RANK_LABEL } from '../../framework/data-parallel-rank.ts';
import type { ServerSpec } from './pool-spec.ts';
import type { PlacedServer } from './simulated-request.ts';

/** An endpoint that a picker of a simulation has. */
export interface SimulatedEndpoint {
  readonly id: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The engines that it is; undefined for one. */
  readonly engines: number | undefined;
  /** The engine that it is of its server, where the picker chooses it. */
  readonly rank: number | undefined;
}

/** A server, or each of its engines where the picker chooses among them. */
export function simulatedEndpoints(spec: ServerSpec): readonly SimulatedEndpoint[] {
  const { id, labels, engines, steered = false } = spec;
  if (!steered) return [{ id, address: id, labels, engines, rank: undefined }];
  return Array.from({ length: engines ?? 1 }, (_, rank) => ({
    id: `${id}-rank-${rank}`,
    address: id,
    labels: { ...labels, [RANK_LABEL]: String(rank) },
    engines: undefined,
    rank,
  }));
}

/** The servers by the ids of their endpoints, and by their addresses. */
export function byEndpoint(
  servers: ReadonlyMap<string, PlacedServer>,
): ReadonlyMap<string, PlacedServer> {
  const all = new Map(servers);
  for (const placed of servers.values())
    for (const { id } of simulatedEndpoints(placed.server.spec)) all.set(id, placed);
  return all;
}
