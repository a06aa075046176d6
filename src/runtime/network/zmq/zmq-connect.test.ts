import { Socket } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { type FullServer, startFullServer } from '../../../../test/support/servers/full-server.ts';
import { openZmqSocket } from './zmq-socket.ts';

let server: FullServer | undefined;
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  server?.stop();
});

it('[V482] a publisher that takes no connection is connected to again after 5 s, without a line in the log', async () => {
  server = await startFullServer();
  const connects = vi.spyOn(Socket.prototype, 'connect');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const onFailed = vi.fn();
  const socket = openZmqSocket({
    kind: 'subscriber',
    address: `tcp://127.0.0.1:${server.port}`,
    onMessage: () => undefined,
    onFailed,
  });
  expect(connects).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(4999);
  expect(connects).toHaveBeenCalledTimes(1);
  // It waits 100 ms before it tries again.
  await vi.advanceTimersByTimeAsync(1);
  await new Promise((resolve) => void setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(100);
  expect(connects).toHaveBeenCalledTimes(2);
  expect(onFailed).not.toHaveBeenCalled();
  socket.close();
});
