import { randomUUID } from 'node:crypto';
import { hostOf } from './kv-contract.ts';

/** Where servers give cached blocks to each other. */
export interface PeerPorts {
  /** The port of a server's first data-parallel rank; each next rank has the next port. */
  readonly base: number;
  /** The ports on which the ranks of a server are routed to: the first, and how many. */
  readonly routed: { readonly base: number; readonly ranks: number };
}

/** The port for blocks of the server that is routed to at `host:port`. */
export function peerPortOf(server: string, { base, routed }: PeerPorts): number {
  const rank = Number(server.slice(server.lastIndexOf(':') + 1)) - routed.base;
  return rank > 0 && rank < routed.ranks ? base + rank : base;
}

/** `kv_transfer_params` by which an engine takes cached blocks from a peer. */
export function kvSourceParams(source: string | undefined, ports: PeerPorts): object {
  if (source === undefined) return {};
  const remote_kv_source = {
    kv_request_id: randomUUID(),
    remote_host: hostOf(source),
    remote_port: peerPortOf(source, ports),
  };
  return { remote_kv_source };
}
