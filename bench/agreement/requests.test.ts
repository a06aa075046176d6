import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { numberOf, sendAll } from './requests.ts';

it('[D479] sends bodies whose sizes say which request each is', async () => {
  const sizes: number[] = [];
  const server = createServer((request, response) => {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      sizes.push(bytes);
      response.end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const options = { requests: 50, clients: 1, seed: 3 };
  const { port } = server.address() as AddressInfo;
  let answers = 0;
  const times = await sendAll(`http://127.0.0.1:${port}`, options, () => {
    answers += 1;
  });
  server.close();
  expect([times.length, answers]).toEqual([50, 50]);
  expect(sizes.map((bytes) => numberOf(bytes, options))).toEqual([...sizes.keys()]);
});
