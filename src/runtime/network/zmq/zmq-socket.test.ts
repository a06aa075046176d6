import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { openZmqSocket } from './zmq-socket.ts';

it('[V54] a socket that cannot listen says at which address and why', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const taken = server.address();
  const port = typeof taken === 'object' && taken !== null ? taken.port : 0;
  const address = `tcp://127.0.0.1:${port}`;
  const reason = await new Promise<string>((resolve) => {
    const socket = openZmqSocket({
      kind: 'subscriber',
      bind: true,
      address,
      onMessage: () => undefined,
      onFailed: (why) => {
        socket.close();
        resolve(why);
      },
    });
  });
  server.close();
  expect(reason).toMatch(`cannot listen at ${address}: `);
  expect(reason).toMatch(/in use.*trying again every 5 s/i);
});

it('[V54] a socket whose address cannot be says so', async () => {
  const reason = await new Promise<string>((resolve) => {
    const socket = openZmqSocket({
      kind: 'dealer',
      address: 'tcp://no port',
      onMessage: () => undefined,
      onFailed: (why) => {
        socket.close();
        resolve(why);
      },
    });
  });
  expect(reason).toMatch('cannot connect to tcp://no port: ');
});
