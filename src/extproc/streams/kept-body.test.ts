import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeptBody } from './kept-body.ts';
import { BLOCK_BYTES, MemoryPool } from './memory-pool.ts';

const SEED = 20_261_123;

function setUp() {
  const blocks = new MemoryPool();
  let heldBytes = 0;
  const body = new KeptBody({
    blocks,
    hold: (bytes) => {
      heldBytes += bytes;
    },
    release: (bytes) => {
      heldBytes -= bytes;
    },
  });
  return { blocks, body, heldBytes: () => heldBytes };
}

const chunks = fc.array(fc.uint8Array({ maxLength: 3 * BLOCK_BYTES, size: 'max' }), {
  minLength: 1,
  maxLength: 6,
});

describe('a body that is kept', () => {
  it('[V210] is the bytes of its chunks, whole and in parts, whatever becomes of their memory', () => {
    fc.assert(
      fc.property(chunks, fc.nat(), fc.nat(), (parts, one, other) => {
        const { body } = setUp();
        const whole = Buffer.concat(parts);
        for (const part of parts) {
          const chunk = Buffer.from(part);
          body.add(chunk);
          chunk.fill(0xaa);
        }
        expect(Buffer.concat(body.pieces).equals(whole)).toBe(true);
        const [start, end] = [one, other]
          .map((at) => at % (whole.length + 1))
          .sort((a, b) => a - b) as [number, number];
        expect(body.copy(start, end).equals(whole.subarray(start, end))).toBe(true);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it('[V13] counts its blocks, until what it is sent from does', () => {
    const { body, blocks, heldBytes } = setUp();
    body.add(Buffer.alloc(BLOCK_BYTES + 1));
    expect(heldBytes()).toBe(2 * (BLOCK_BYTES + 512 + BLOCK_BYTES / 16));
    const memory = body.handOver();
    expect([heldBytes(), blocks.taken, body.pieces]).toEqual([0, 2, []]);
    body.free();
    expect(blocks.taken).toBe(2);
    memory?.free();
    expect([blocks.taken, blocks.size]).toEqual([0, 2]);
  });

  it('[V13] takes no block for a small body: thousands may wait for an endpoint', () => {
    const { body, blocks, heldBytes } = setUp();
    body.add(Buffer.from('{}'));
    expect([blocks.made, heldBytes(), String(body.pieces[0])]).toEqual([0, 2 + 512 + 1, '{}']);
    expect(body.handOver()).toBeUndefined();
    expect(heldBytes()).toBe(0);
  });
});
