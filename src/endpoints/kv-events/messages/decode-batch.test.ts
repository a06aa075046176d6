import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CacheEvent } from './cache-event.ts';
import { checkStructure, DROP_REASONS, DroppedBatch, type DropReason } from './check-structure.ts';
import { decodeEvents } from './decode-batch.ts';

const HASH = 0xfedc_ba98_7654_3210n;
const WORDS = Uint32Array.of(0x7654_3210, 0xfedc_ba98);

/** The events of a batch, and how many others are of an unknown type. */
function decodeBatch(payload: Uint8Array): { events: CacheEvent[]; unknown: number } {
  const all = [...decodeEvents(payload, 100_000)];
  const events = all.filter((each) => each !== undefined);
  return { events, unknown: all.length - events.length };
}

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

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    '[V415] counts an event named %s as one of an unknown type',
    (type) => {
      const batch = decodeBatch(encode([1, [[type, 1], ['AllBlocksCleared'], { type }], 0]));
      expect(batch).toMatchObject({ events: [{ kind: 'cleared' }], unknown: 2 });
    },
  );

  it.each([
    ['text', encode('hello'), 'the batch is string'],
    ['no events', encode([1.5]), 'the events of the batch: expected a list'],
    ['hashes of text', encode([1, [['BlockRemoved', ['x']]]]), 'a block hash is string'],
    ['no block size', encode([1, [['BlockStored', [1], null, [7]]]]), 'block_size is undefined'],
    [
      'half a batch',
      encode([1, [asArray]], { useBigInt64: true }).subarray(0, 12),
      'announces more',
    ],
  ])('[E7] refuses %s with what is wrong', (_what, payload, message) => {
    expect(() => decodeBatch(payload)).toThrow(message);
  });

  /** Why a payload is dropped. */
  const dropReason = (payload: Uint8Array): DropReason | 'read' => {
    try {
      decodeBatch(payload);
      return 'read';
    } catch (error) {
      if (error instanceof DroppedBatch) return error.reason;
      throw error;
    }
  };

  it('[V53] refuses lists that announce more than the message holds, before memory is reserved', () => {
    // 60 lists in each other that announce 16 million elements each: 300 bytes.
    const header = [0xdd, 0x00, 0xf4, 0x24, 0x00];
    const bomb = Uint8Array.from(Array.from({ length: 60 }, () => header).flat());
    expect(dropReason(bomb)).toBe('truncated');
    // The same in an event, and as maps, texts, binaries and extensions.
    for (const type of [0xdd, 0xdf, 0xdb, 0xc6, 0xc9]) {
      const claim = [type, 0x00, 0xf4, 0x24, 0x00];
      expect(dropReason(Uint8Array.of(0x93, 0x01, 0x91, 0x92, 0xa1, 0x78, ...claim, 0x01))).toBe(
        'truncated',
      );
    }
  });

  it('[V53] refuses what nests too deep, and what has too many elements', () => {
    const deep = encode([1, [[[[[[[[[[]]]]]]]]]]]);
    expect(dropReason(deep)).toBe('too-deep');
    expect(dropReason(encode([1, [['BlockRemoved', Array(100_001).fill(1)]]]))).toBe(
      'too-many-elements',
    );
    const maps = encode([1, Array.from({ length: 100_001 }, () => ({}))]);
    expect(dropReason(maps)).toBe('too-many-elements');
    expect(dropReason(encode([1, [['BlockRemoved', Array(99_000).fill(1)]]]))).toBe('read');
  });

  it('[V59] reads or drops any bytes, and never fails otherwise', () => {
    const valid = encode([1.5, [asArray, asMap], 3], { useBigInt64: true });
    const change = fc.record({ at: fc.nat(), byte: fc.nat(255) });
    const mutated = fc.array(change, { minLength: 1, maxLength: 6 }).map((changes) => {
      const bytes = Uint8Array.from(valid);
      for (const { at, byte } of changes) bytes[at % bytes.length] = byte;
      return bytes;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 80 }), mutated), (payload) => {
        expect(['read', ...DROP_REASONS]).toContain(dropReason(payload));
      }),
      { numRuns: 20_000, seed: 53 },
    );
  });

  it('[V53] lets pass all that the decoder reads, of any size that is announced', () => {
    const leaf = fc.oneof(
      fc.integer(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.nat(300).map((length) => 'x'.repeat(length)),
      fc.nat(300).map((length) => new Uint8Array(length)),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('node'), { maxLength: 20 }),
        fc.dictionary(fc.string({ maxLength: 20 }), tie('node'), { maxKeys: 4 }),
      ),
    })).node;
    fc.assert(
      fc.property(value, (each) => {
        const payload = encode(each, { useBigInt64: true });
        expect(() => checkStructure(payload, 100_000)).not.toThrow();
        // A byte less is always too little.
        expect(() => checkStructure(payload.subarray(0, -1), 100_000)).toThrow('announces more');
      }),
      { numRuns: 500, seed: 54 },
    );
  });
});
