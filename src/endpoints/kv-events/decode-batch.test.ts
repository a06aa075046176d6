import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { decodeBatch } from './decode-batch.ts';

const HASH = 0xfedc_ba98_7654_3210n;
const WORDS = Uint32Array.of(0x7654_3210, 0xfedc_ba98);

function decodeOne(event: unknown): unknown {
  return decodeBatch(encode([1.5, [event], 3], { useBigInt64: true })).events[0];
}

describe('decoding a batch', () => {
  const stored = {
    kind: 'stored',
    hashes: WORDS,
    parent: Uint32Array.of(7, 0),
    tokenIds: [1, 2, 3, 4],
    blockTokens: 4,
    tier: 'gpu',
    lora: 'adapter',
    extras: [''],
    group: undefined,
    groupKind: undefined,
  };
  const fields = {
    block_hashes: [HASH],
    parent_block_hash: 7,
    token_ids: [1, 2, 3, 4],
    block_size: 4,
    lora_id: null,
    medium: 'GPU',
    lora_name: 'adapter',
    extra_keys: [['adapter']],
  };
  const asArray = ['BlockStored', ...Object.values(fields)];
  const asMap = { type: 'BlockStored', ...fields };

  it('reads all three layouts alike', () => {
    const batches = [
      [1.5, [asArray], 3],
      [1.5, [asMap], 3],
      { ts: 1.5, events: [asMap], data_parallel_rank: 3 },
    ];
    for (const batch of batches) {
      expect(decodeBatch(encode(batch, { useBigInt64: true }))).toEqual({
        events: [stored],
        unknown: 0,
      });
    }
  });

  it('reads the short arrays of SGLang and of older engines', () => {
    expect(decodeOne(['BlockStored', [5], null, [1, 2], 2])).toMatchObject({
      hashes: Uint32Array.of(5, 0),
      parent: undefined,
      tier: 'gpu',
      lora: undefined,
    });
    expect(decodeOne(['BlockRemoved', [5]])).toEqual({
      kind: 'removed',
      hashes: Uint32Array.of(5, 0),
      tier: 'gpu',
      group: undefined,
    });
    expect(decodeOne(['AllBlocksCleared'])).toEqual({ kind: 'cleared' });
    expect(decodeBatch(encode([1.5, [['AllBlocksCleared']]])).unknown).toBe(0);
  });

  it('reads hashes of either sign, and the last eight of bytes', () => {
    const hashesOf = (hash: unknown): unknown =>
      (decodeOne(['BlockRemoved', [hash]]) as { hashes: unknown }).hashes;
    expect(hashesOf(HASH)).toEqual(WORDS);
    expect(hashesOf(HASH - 2n ** 64n)).toEqual(WORDS);
    expect(hashesOf(-1)).toEqual(Uint32Array.of(0xffff_ffff, 0xffff_ffff));
    expect(hashesOf(2 ** 52 + 3)).toEqual(Uint32Array.of(3, 2 ** 20));
    const bytes = Uint8Array.of(9, 9, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10);
    expect(hashesOf(bytes)).toEqual(WORDS);
    expect(hashesOf(Uint8Array.of(1, 2, 3, 4, 5))).toEqual(Uint32Array.of(0x0203_0405, 1));
  });

  it('keeps what besides its tokens sets a block apart', () => {
    const event = decodeOne({ ...asMap, extra_keys: [['adapter', 'salt', 7]] });
    expect(event).toMatchObject({ extras: ['["salt",7]'] });
  });

  it('counts events of types that do not exist yet', () => {
    const batch = decodeBatch(encode([1, [['BlockMoved', 1], { type: 'Other' }], 0]));
    expect(batch).toMatchObject({ events: [], unknown: 2 });
  });

  it.each([
    ['text', encode('hello'), 'the batch is string'],
    ['no events', encode([1.5]), 'the events of the batch: expected a list'],
    ['hashes of text', encode([1, [['BlockRemoved', ['x']]]]), 'a block hash is string'],
    ['no block size', encode([1, [['BlockStored', [1], null, []]]]), 'block_size is undefined'],
    ['half a batch', encode([1, [asArray]], { useBigInt64: true }).subarray(0, 12), 'Insufficient'],
  ])('[E7] refuses %s with what is wrong', (_what, payload, message) => {
    expect(() => decodeBatch(payload)).toThrow(message);
  });
});
