import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { expect, it, vi } from 'vitest';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { connectWithin } from './connect-within.ts';

const TARGET: buildConnector.Options = {
  hostname: '10.0.0.1',
  host: '10.0.0.1:8000',
  protocol: 'http:',
  port: '8000',
};

it('[V483] a server whose host vanishes after it has taken a request is noticed by TCP', () => {
  const socket = { setKeepAlive: vi.fn(), read: vi.fn() } as unknown as Socket;
  const callback = vi.fn();
  connectWithin((_, done) => done(null, socket), 2000, new SimulatedClock())(TARGET, callback);
  expect(callback).toHaveBeenCalledWith(null, socket);
  expect(socket.setKeepAlive).toHaveBeenCalledWith(true, 5000);
});

it('[V520] undici gets at most 16 KiB at once, because it makes an error for each header beyond its limit', () => {
  const waiting = 64 * 1024;
  const read = vi.fn((size = waiting) => Buffer.alloc(size));
  const socket = { setKeepAlive: vi.fn(), read, readableLength: waiting, destroyed: false };
  connectWithin(
    (_, done) => done(null, socket as unknown as Socket),
    2000,
    new SimulatedClock(),
  )(TARGET, vi.fn());
  expect(socket.read()).toHaveLength(16 * 1024);
  socket.destroyed = true;
  expect(socket.read()).toBeNull();
});
