import { describe, expect, it } from 'vitest';
import { BLOCK_BYTES, MemoryPool } from './memory-pool.ts';

describe('the pool of blocks', () => {
  it('[V210] makes a block only where none is free', () => {
    const pool = new MemoryPool();
    for (let round = 0; round < 100; round++) {
      const blocks = Array.from({ length: 20 }, () => pool.take());
      expect(new Set(blocks).size).toBe(20);
      for (const block of blocks) pool.give(block);
    }
    expect([pool.made, pool.size, pool.taken]).toEqual([20, 20, 0]);
  });

  it('[V212] frees what nothing needs a part at a time, and no block that was needed since', () => {
    const pool = new MemoryPool();
    const blocks = Array.from({ length: 80 }, () => pool.take());
    for (const block of blocks) pool.give(block);
    pool.trim();
    expect(pool.size).toBe(80);
    const needed = Array.from({ length: 40 }, () => pool.take());
    for (const block of needed) pool.give(block);
    pool.trim();
    expect(pool.size).toBe(75);
    for (let second = 0; second < 60; second++) pool.trim();
    expect(pool.size).toBeLessThan(8);
    expect(blocks.filter(({ length }) => length === BLOCK_BYTES)).toHaveLength(pool.size);
  });

  it('[V210] hands a block over to the body that keeps most of it, once', () => {
    const pool = new MemoryPool();
    const block = pool.take();
    const most = block.subarray(20, BLOCK_BYTES - 100);
    expect(pool.takeOver(most)).toBeUndefined();
    pool.offer(block);
    expect(pool.takeOver(block.subarray(0, BLOCK_BYTES / 2))).toBeUndefined();
    expect(pool.takeOver(Buffer.alloc(BLOCK_BYTES))).toBeUndefined();
    expect([pool.takeOver(most), pool.takeOver(most), pool.withdraw()]).toEqual([
      block,
      undefined,
      true,
    ]);
    pool.offer(block);
    expect([pool.withdraw(), pool.takeOver(most)]).toEqual([false, undefined]);
  });

  it('[V212] does not count a block that is left to the collector', () => {
    const pool = new MemoryPool();
    pool.take();
    pool.leave();
    expect([pool.size, pool.taken]).toEqual([0, 0]);
  });
});
