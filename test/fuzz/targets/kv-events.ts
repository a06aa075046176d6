import { encode } from '@msgpack/msgpack';
import { CacheView } from '../../../src/endpoints/kv-events/blocks/cache-view.ts';
import { TokenChain } from '../../../src/endpoints/kv-events/blocks/token-chain.ts';
import { StreamStats } from '../../../src/endpoints/kv-events/health/stream-stats.ts';
import { DroppedBatch } from '../../../src/endpoints/kv-events/messages/check-structure.ts';
import type { FuzzTarget } from '../target.ts';
import { promise } from '../target.ts';

const BLOCKS_MAX = 1000;
const ELEMENTS_MAX = 5000;
const chain = new TokenChain(1);
const keys = new Uint32Array(40).map((_, at) => at);

const stored = (from: number, count: number): unknown => [
  'BlockStored',
  Array.from({ length: count }, (_, at) => from + at),
  from === 0 ? null : from - 1,
  Array.from({ length: 4 * count }, (_, at) => at),
  4,
  null,
  'GPU',
  'adapter',
  [['adapter', 'salt']],
];

/** A message of KV events, applied to a view that holds some blocks already. */
export const kvEvents: FuzzTarget = {
  name: 'kv-events',
  seeds: [
    [1.5, [stored(0, 8)], 3],
    [1.5, [stored(0, 4), stored(4, 4), ['BlockRemoved', [6, 7], 'GPU'], ['AllBlocksCleared']]],
    {
      ts: 1,
      events: [{ type: 'BlockStored', block_hashes: [1n], token_ids: [1, 2], block_size: 2 }],
    },
    [
      1,
      [
        [
          'BlockStored',
          [new Uint8Array(32)],
          -5,
          [1, 2, 3, 4],
          4,
          0,
          'CPU',
          null,
          [null],
          1,
          'mla_attention',
        ],
      ],
    ],
  ].map((batch) => encode(batch, { useBigInt64: true })),
  words: [
    'BlockStored',
    'BlockRemoved',
    'AllBlocksCleared',
    '\u0091',
    '\u00dd',
    '\u00c4',
    'events',
  ],
  run: (input) => {
    const room = { left: BLOCKS_MAX };
    const stats = new StreamStats();
    const view = new CacheView({
      chain,
      stats,
      adapters: new Set(),
      room,
      batchElementsMax: ELEMENTS_MAX,
      onCleared: () => undefined,
      tierWeights: new Map([['cpu', 0.8]]),
    });
    view.apply(encode([1, [stored(0, 4)]]));
    let outcome: string;
    try {
      view.apply(input);
      outcome = `${stats.events} ${stats.skipped} ${stats.unnamed > 0} ${view.knowledge}`;
    } catch (error) {
      if (!(error instanceof DroppedBatch)) throw error;
      outcome = `${error.reason} ${error.message.replace(/[0-9]+/g, '*').slice(0, 40)}`;
    }
    const { size, ghosts } = view.blocks;
    promise(room.left + size + ghosts === BLOCKS_MAX, () => `${room.left} left of ${size}`);
    promise(view.match(keys, keys.length / 2) >= 0, () => 'a negative match');
    view.reset('unknown');
    promise(room.left === BLOCKS_MAX, () => `${room.left} left of all`);
    return outcome;
  },
};
