import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryPool } from '../../streams/memory-pool.ts';
import { MessageReader } from './message-reader.ts';

const BYTES_MAX = 100_000;

function framed(message: Uint8Array, compressed = false): Buffer {
  const head = Buffer.alloc(5);
  head[0] = compressed ? 1 : 0;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Cut where `cuts` say, each a share of the whole. */
function pieces(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const at = cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length));
}

function allOf(reader: MessageReader, parts: readonly Buffer[]): readonly Buffer[] {
  const all: Buffer[] = [];
  for (const part of parts) {
    reader.push(part);
    for (let next = reader.next(); next !== undefined; next = reader.next()) all.push(next);
  }
  return all;
}

describe('the reader of gRPC messages', () => {
  it('[G1] finds the same messages wherever the bytes are cut', () => {
    const message = fc.uint8Array({ maxLength: 300 });
    const large = fc.uint8Array({ minLength: 20_000, maxLength: 90_000, size: 'max' });
    const messages = fc.array(fc.oneof({ weight: 9, arbitrary: message }, large), { maxLength: 8 });
    const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(messages, cuts, (sent, where) => {
        const bytes = Buffer.concat(sent.map((each) => framed(each)));
        const got = allOf(new MessageReader(BYTES_MAX, new MemoryPool()), pieces(bytes, where));
        expect(got.map((each) => each.toString('hex'))).toEqual(
          sent.map((each) => Buffer.from(each).toString('hex')),
        );
      }),
      { numRuns: 300, seed: 20 },
    );
  });

  it('[G1] gives a message that came in parts memory of its own, and others a view', () => {
    const reader = new MessageReader(BYTES_MAX, new MemoryPool());
    const bytes = framed(Buffer.alloc(50_000, 7));
    const [whole] = allOf(reader, [bytes]);
    expect(whole?.buffer === bytes.buffer).toBe(true);
    const [joined] = allOf(reader, [bytes.subarray(0, 17_000), bytes.subarray(17_000)]);
    expect([joined?.length, joined?.buffer.byteLength]).toEqual([50_000, 50_005]);
    reader.handled('free');
    expect(joined?.length).toBe(0);
  });

  it('[V210] gathers messages of 16 KB in blocks that it gives back when they are handled', () => {
    const blocks = new MemoryPool();
    const reader = new MessageReader(BYTES_MAX, blocks);
    const bytes = framed(Buffer.alloc(16_400, 7));
    for (let each = 0; each < 10; each++) {
      expect(allOf(reader, [bytes.subarray(0, 9000), bytes.subarray(9000)])).toHaveLength(1);
      expect(blocks.taken).toBe(1);
      reader.handled('free');
    }
    allOf(reader, [bytes.subarray(0, 9000)]);
    reader.close();
    expect([blocks.taken, blocks.made]).toEqual([0, 1]);
    allOf(reader, [bytes.subarray(0, 9000), bytes.subarray(9000)]);
    reader.handled('used');
    expect([blocks.taken, blocks.size]).toEqual([0, 0]);
  });

  it('[G1] says which messages are compressed', () => {
    const reader = new MessageReader(BYTES_MAX, new MemoryPool());
    reader.push(Buffer.concat([framed(Buffer.from('a'), true), framed(Buffer.from('b'))]));
    expect([String(reader.next()), reader.compressed]).toEqual(['a', true]);
    expect([String(reader.next()), reader.compressed]).toEqual(['b', false]);
  });

  it('[G2] refuses a message that is too large by its head, before it comes', () => {
    const head = framed(Buffer.alloc(BYTES_MAX + 1)).subarray(0, 5);
    for (const parts of [[head], [head.subarray(0, 2), head.subarray(2)]]) {
      expect(() => allOf(new MessageReader(BYTES_MAX, new MemoryPool()), parts)).toThrow(
        'Received message larger than max (100001 vs. 100000)',
      );
    }
  });
});
