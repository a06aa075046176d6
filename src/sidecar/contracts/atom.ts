import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../openai/json/json-object.ts';
import { cappedToOneToken, withTransfer } from '../body/generation-api.ts';
import type { KvContract } from './kv-contract.ts';
import { rankOf } from './mori-io.ts';
import { answered } from './nixl.ts';

const KEEP_KV_FOR_DECODER = '{"do_remote_decode":true,"do_remote_prefill":false}';

/**
 * AMD's ATOM engines, as the reference's sidecar has it: the decoding server gets the prefilling
 * one's answer, and both compute at the same data-parallel rank, which is in the body.
 */
export function atomContract(ranks: number): KvContract {
  return {
    name: 'atom',
    decodesFirst: false,
    countsCached: true,
    legsOf: ({ body, api }) => {
      const data_parallel_rank = String(rankOf(randomUUID(), ranks));
      const ranked = body.with({ data_parallel_rank });
      return {
        atOnce: false,
        prefill: {
          body: cappedToOneToken(ranked, api, { kv_transfer_params: KEEP_KV_FOR_DECODER }),
          headers: {},
        },
        decode: (params) => ({
          body: withTransfer(ranked, api, { kv_transfer_params: forDecoder(answered(params)) }),
          headers: {},
        }),
      };
    },
  };
}

/**
 * The answered parameters by the names that decoding servers read, without those that are not
 * theirs.
 */
function forDecoder(params: JsonObject): JsonObject {
  const rank = params.member('dp_rank');
  return params.with({
    ...(rank !== undefined && { remote_dp_rank: rank }),
    first_token_id: undefined,
    draft_token_ids: undefined,
  });
}
