import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { eventually } from '../support/stack.ts';
import { startOpenLoop } from './load.ts';

it('[D573] a constant rate has at most so many requests under way, and skips what else is due', async () => {
  let opened = 0;
  // Never answers.
  const server = createServer(() => {
    opened += 1;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const load = startOpenLoop({
    port: (server.address() as AddressInfo).port,
    perSecond: 1000,
    next: () => Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    atOnceMax: 3,
  });
  await eventually(
    () => [opened, load.counts().skipped > 10] as const,
    ([count, skipped]) => count >= 3 && skipped,
  );
  load.stop();
  server.close();
  expect([opened, load.counts().completed]).toEqual([3, 0]);
});
