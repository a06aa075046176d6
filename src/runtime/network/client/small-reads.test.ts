import type { Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { limitReads } from './small-reads.ts';

it('[V520] undici gets at most 16 KiB at once, because it makes an error for each header beyond its limit', () => {
  const waiting = 64 * 1024;
  const read = vi.fn((size = waiting) => Buffer.alloc(size));
  const socket = { read, readableLength: waiting, destroyed: false };
  limitReads(socket as unknown as Socket);
  expect(socket.read()).toHaveLength(16 * 1024);
  socket.destroyed = true;
  expect(socket.read()).toBeNull();
});
