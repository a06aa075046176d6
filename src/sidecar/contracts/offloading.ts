import { randomUUID } from 'node:crypto';
import { cappedToOneToken, withTransfer } from '../body/generation-api.ts';
import { hostOf, type KvContract } from './kv-contract.ts';
import { kvSourceParams, type PeerPorts, peerPortOf } from './kv-source.ts';

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
      const remote_host = hostOf(prefiller);
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
