import { cappedToOneToken } from '../body/generation-api.ts';
import type { KvContract } from './kv-contract.ts';

/** The client's bound on the share of a prompt that must be cached for an engine to answer. */
export const HIT_THRESHOLD = 'cache_hit_threshold';

/**
 * Servers that share a storage of KV: the decoding server is asked first where the client sets a
 * threshold; else, and where too little was cached, the prompt is computed into the storage first.
 */
export const sharedStorageContract: KvContract = {
  name: 'shared-storage',
  decodesFirst: true,
  countsCached: false,
  legsOf: ({ body, api }) => {
    const whatever = body.with({ [HIT_THRESHOLD]: '0' });
    return {
      atOnce: false,
      prefill: { body: cappedToOneToken(body, api, { [HIT_THRESHOLD]: '0' }), headers: {} },
      decode: () => ({ body: whatever, headers: {} }),
    };
  },
};
