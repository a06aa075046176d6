import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { readEvents } from './read-events.ts';

it('[V478] a picker that falls silent within its stream is said to be so', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const admin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const events: unknown[] = [];
  const read = readEvents({ admin }, '/debug/live', (event) => events.push(event) > 0, 100);
  await expect(read).rejects.toThrow(`the picker at ${admin} has sent nothing for 0.1 s`);
  expect(events).toEqual([1]);
  server.closeAllConnections();
  server.close();
});
