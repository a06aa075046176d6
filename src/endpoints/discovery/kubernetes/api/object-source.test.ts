import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { openAccess } from '../../../../../test/support/kubernetes/open-access.ts';
import { UNPACED } from '../../../../../test/support/kubernetes/unpaced.ts';
import { objectSource } from './object-source.ts';

it('[V296] ends a watch with the error that the API server sends, also where it leaves it open', async () => {
  const server = createServer((_, response) => {
    const object = { kind: 'Status', code: 410, message: 'too old' };
    response.write(`${JSON.stringify({ type: 'ERROR', object })}\n`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const access = openAccess(`http://127.0.0.1:${port}`);
  const about = { group: 'g', version: 'v1', namespace: 'n', plural: 'things' };
  const source = objectSource(
    { access, pace: UNPACED },
    { ...about, selector: {}, lean: (object) => object },
  );
  const status = await new Promise((resolve) => {
    const events = { onOpen: () => undefined, onEvent: () => undefined };
    source.watch('1', { ...events, onEnd: (code) => resolve(code) });
  });
  expect(status).toBe(410);
  server.closeAllConnections();
  server.close();
});
