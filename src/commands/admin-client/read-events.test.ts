import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { askPicker } from './ask-picker.ts';
import { readEvents } from './read-events.ts';

it('[V478] a picker that falls silent within its stream is said to be so', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const admin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const events: unknown[] = [];
  const read = readEvents({ admin }, '/debug/live', (event) => events.push(event) > 0, {
    silentMaxMs: 100,
  });
  await expect(read).rejects.toThrow(`the picker at ${admin} has sent nothing for 0.1 s`);
  expect(events).toEqual([1]);
  server.closeAllConnections();
  server.close();
});

it('[O468] a user who waits for a picker reads so, and at last that there was no answer', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const admin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const notes: string[] = [];
  const read = readEvents({ admin }, '/debug/live', () => true, {
    note: (line) => notes.push(line),
    noteAfterMs: 1,
    connectTimeoutMs: 100,
  });
  const late = /no picker at .* \(no answer within 0\.1 s: it is overloaded, or packets are lost\)/;
  await expect(read).rejects.toThrow(late);
  expect(notes).toEqual([`waiting for the picker at ${admin}, which has not answered yet`]);
  await expect(askPicker({ admin, path: '/', answerTimeoutMs: 100 })).rejects.toThrow(late);
  server.closeAllConnections();
  server.close();
});
