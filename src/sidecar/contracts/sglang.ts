import { randomInt } from 'node:crypto';
import { bareHostOf } from '../../framework/values/server-address.ts';
import { type KvContract } from './kv-contract.ts';

/** Readers of JSON keep every digit of it, and two requests do not get the same by chance. */
const ROOMS = 2 ** 48 - 1;

/**
 * SGLang: both servers get the same request at once, and meet at the bootstrap server by a number.
 */
export function sglangContract(bootstrapPort: number): KvContract {
  return {
    name: 'sglang',
    decodesFirst: false,
    countsCached: false,
    legsOf: ({ body, prefiller }) => {
      const sent = body.with({
        bootstrap_host: JSON.stringify(bareHostOf(prefiller)),
        bootstrap_port: String(bootstrapPort),
        bootstrap_room: String(randomInt(ROOMS)),
      });
      const leg = { body: sent, headers: {} };
      return { atOnce: true, prefill: leg, decode: () => leg };
    },
  };
}
