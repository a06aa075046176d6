import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { expect, it, vi } from 'vitest';
import { UnsteadyClock } from '../../../../test/support/unsteady-clock.ts';
import { SimulatedClock } from '../../clock/simulated-clock.ts';
import { seededRandom } from '../../seeded-random.ts';
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

it('[V543] a connection that came about while the process stood still is kept', () => {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const socket = { setKeepAlive: vi.fn(), destroy: vi.fn() } as unknown as Socket;
  let connected = (): void => undefined;
  const connector: buildConnector.connector = (_, done) => {
    connected = () => done(null, socket);
    return socket;
  };
  const callback = vi.fn();
  connectWithin(connector, 2000, clock)(TARGET, callback);
  clock.pass(60_000);
  clock.advanceBy(0);
  connected();
  clock.advanceBy(10_000);
  expect(socket.destroy).not.toHaveBeenCalled();
  expect(callback).toHaveBeenCalledOnce();
  expect(clock.pending).toBe(0);
});
