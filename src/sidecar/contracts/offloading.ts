import { randomUUID } from 'node:crypto';
import { bareHostOf, portOf } from '../../framework/values/server-address.ts';
import { cappedToOneToken, withTransfer } from '../body/generation-api.ts';
import { type KvContract } from './kv-contract.ts';

/**
 * vLLM's offloading connector between peers: the prefilling server stores the KV under an id, and
 * the decoding one takes it from there.
 */
export function offloadingContract(ports: PeerPorts): KvContract {
  return {
    name: 'offloading',
    decodesFirst: false,
    countsCached: false,
    legsOf: ({ body, api, prefiller, kvSource }) => {
      const kv_request_id = randomUUID();
      const store = { remote_decoder: { kv_request_id }, ...kvSourceParams(kvSource, ports) };
      const remote_host = bareHostOf(prefiller);
      const remote_port = peerPortOf(prefiller, ports);
      const take = { remote_prefiller: { kv_request_id, remote_host, remote_port } };
      const transferOf = (params: object) => ({ kv_transfer_params: JSON.stringify(params) });
      return {
        // Blocks that are asked for before they are stored cost a time-out in the decoding engine.
        atOnce: false,
        prefill: { body: cappedToOneToken(body, api, transferOf(store)), headers: {} },
        decode: () => ({ body: withTransfer(body, api, transferOf(take)), headers: {} }),
      };
    },
  };
}

/** Where servers give cached blocks to each other. */
export interface PeerPorts {
  /** The port of a server's first data-parallel rank; each next rank has the next port. */
  readonly base: number;
  /** The ports on which the ranks of a server are routed to: the first, and how many. */
  readonly routed: { readonly base: number; readonly ranks: number };
}

/** The port for blocks of the server that is routed to at `host:port`. */
function peerPortOf(server: string, { base, routed }: PeerPorts): number {
  const rank = Number(portOf(server)) - routed.base;
  return rank > 0 && rank < routed.ranks ? base + rank : base;
}

/** `kv_transfer_params` by which an engine takes cached blocks from a peer. */
export function kvSourceParams(source: string | undefined, ports: PeerPorts): object {
  if (source === undefined) return {};
  const remote_kv_source = {
    kv_request_id: randomUUID(),
    remote_host: bareHostOf(source),
    remote_port: peerPortOf(source, ports),
  };
  return { remote_kv_source };
}
