import { encode } from '@msgpack/msgpack';
import { decodeBatch } from '../../../src/endpoints/kv-events/decode-batch.ts';
import { expected, type FuzzTarget, promise } from '../target.ts';

const STORED = ['BlockStored', [1, 2n ** 63n, -5], null, [10, 11, 12, 13], 2, null, 'GPU', 'a'];
const BATCHES = [
  [1.5, [STORED, ['BlockRemoved', [1], 'CPU'], ['AllBlocksCleared']], 0],
  [2.5, [['BlockStored', [new Uint8Array(32)], 7, [1, 2], 2, null, null, null, [['k', 3]], 0]]],
  { ts: 1, events: [{ type: 'BlockStored', block_hashes: [1], token_ids: [1], block_size: 1 }] },
  [1, []],
];

/** Whatever an engine sends: a batch or an error, and memory in proportion to the bytes. */
export const kvEvents: FuzzTarget = {
  name: 'kv-events',
  seeds: BATCHES.map((batch) => encode(batch, { useBigInt64: true })),
  words: ['\x90', '\xdd', '\x93\x90', 'BlockStored', 'GPU', '\xabBlockStored', '\xc0', '\x80'],
  run: (input) => {
    try {
      const { events, unknown } = decodeBatch(input, 16_000_000);
      promise(events.length + unknown <= input.length, () => `${events.length} events`);
      return `${Math.min(9, events.length)} ${Math.min(9, unknown)} ${events[0]?.kind}`;
    } catch (error) {
      return expected(error, Error);
    }
  },
};
