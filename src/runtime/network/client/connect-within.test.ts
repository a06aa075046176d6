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
