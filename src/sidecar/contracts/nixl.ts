import { entriesOf, withMembers } from '../../openai/json/json-members.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { cappedToOneToken, withTransfer } from '../body/generation-api.ts';
import type { KvContract, Leg } from './kv-contract.ts';
import { kvSourceParams, type PeerPorts } from './offloading.ts';

/** What NIXL's connector expects in a request whose KV another server will read. */
export const KEEP_KV_FOR_DECODER = {
  do_remote_decode: true,
  do_remote_prefill: false,
  remote_engine_id: null,
  remote_block_ids: null,
  remote_host: null,
  remote_port: null,
};

/**
 * vLLM's NIXL connector: the prefilling server answers where it keeps the KV, and the decoding one
 * gets this answer to the byte.
 */
export function nixlContract(ports: PeerPorts): KvContract {
  return {
    name: 'nixlv2',
    decodesFirst: false,
    countsCached: true,
    legsOf: ({ body, api, kvSource, earlierKv }) => {
      const kept = JSON.stringify({ ...KEEP_KV_FOR_DECODER, ...kvSourceParams(kvSource, ports) });
      const asking = (params: Buffer | string): Leg => ({
        body: cappedToOneToken(body, api, { kv_transfer_params: params }),
        headers: {},
      });
      return {
        atOnce: false,
        ...(earlierKv === undefined
          ? { prefill: asking(kept) }
          : // The first try may have read the earlier blocks, and so freed them.
            { prefill: asking(withEarlierKv(kept, earlierKv)), prefillAgain: asking(kept) }),
        decode: (params) => ({
          body: withTransfer(body, api, { kv_transfer_params: answered(params) }),
          headers: {},
        }),
      };
    },
  };
}

function withEarlierKv(params: string, earlier: Buffer): Buffer {
  return withMembers(Buffer.from(params), Object.fromEntries(entriesOf(earlier)));
}

/** Throws where the answer does not say where the KV is. */
export function answered(params: JsonObject | undefined): JsonObject {
  if (params === undefined) throw new Error('answered without kv_transfer_params');
  return params;
}
