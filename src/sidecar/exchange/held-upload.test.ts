import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { sidecarBed } from '../../../test/support/sidecar/sidecar-bed.ts';
import { complete, metric, prefilledAt } from '../../../test/support/sidecar/sidecar-client.ts';
import type { Sidecar } from '../start-sidecar.ts';

/** What the bodies of requests take counts for as long as somebody holds them. */

/** More than the buffers of a connection hold. */
const BODY = `{"prompt":"${'x'.repeat(24_000_000)}"}`;

const bed = sidecarBed();
const started = bed.started.bind(bed);

const buffered = (sidecar: Sidecar): Promise<number> =>
  metric(sidecar, 'pointsman_sidecar_buffered_bytes');

/** A server that answers at the first bytes of a request, reads no more, and does not end. */
async function unreading(): Promise<{ address: string; connected: Promise<Socket> }> {
  const connected = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', () => {
        socket.pause();
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n');
        connected.resolve(socket);
      });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  bed.stops.push(async () => {
    (await connected.promise).destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, connected: connected.promise };
}

async function statusOf(sidecar: Sidecar, body: string): Promise<number | undefined> {
  const url = `http://${sidecar.address}/v1/completions`;
  const headers = { 'content-type': 'application/json' };
  const asked = httpRequest(url, { method: 'POST', headers, agent: false }).end(body);
  bed.stops.unshift(async () => void asked.destroy());
  asked.on('error', () => undefined);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined).resume();
  return response.statusCode;
}

it.each(['its connection', 'the engine'])(
  '[V440] counts a body that an engine does not read, also after it answers, until the end of %s',
  async (end) => {
    const engine = await unreading();
    const bounds = { bufferedBytesMax: 1.5 * BODY.length, idleTimeoutMs: 0 };
    const sidecar = await started({ engine: engine.address, bounds });
    const leaving = new AbortController();
    const answer = await complete(sidecar, { body: BODY, signal: leaving.signal });
    expect([answer.status, await buffered(sidecar)]).toEqual([200, BODY.length]);
    expect(await statusOf(sidecar, BODY)).toBe(503);
    if (end === 'the engine') (await engine.connected).destroy();
    else leaving.abort();
    await eventually(
      () => buffered(sidecar),
      (bytes) => bytes === 0,
    );
  },
);

it('[V441] counts what the engine is sent beside the body, and computes here where there is no room for it', async () => {
  const body = JSON.stringify({ prompt: 'x'.repeat(10_000) });
  const kv = `{"kv_transfer_params":{"remote_host":"${'h'.repeat(10_000)}"}}`;
  const roomy = await started({ bounds: { bufferedBytesMax: 2.5 * body.length } });
  const answer = complete(roomy, { body, ...prefilledAt(bed.prefiller) });
  (await bed.prefiller.next()).response.end(kv);
  (await bed.engine.next()).response.end('{}');
  expect((await answer).status).toBe(200);
  expect([roomy.counts, await buffered(roomy)]).toMatchObject([{ prefilled: 1 }, 0]);

  const full = await started({ bounds: { bufferedBytesMax: 1.5 * body.length } });
  const alone = complete(full, { body, ...prefilledAt(bed.prefiller) });
  void bed.prefiller.next().then(({ response }) => response.end(kv));
  const visit = await bed.engine.next();
  expect(visit.body).toBe(body);
  visit.response.end('{}');
  expect((await alone).status).toBe(200);
  expect([bed.prefiller.visits, full.counts.fellBack]).toEqual([2, 1]);
  expect(bed.logged.join()).toMatch(/computing here: the bodies of all requests reach the bound/);
  expect(await buffered(full)).toBe(0);
});

it('[V442] counts the body of a chat that is decoded in pieces until its last piece', async () => {
  const sidecar = await started({ decodeChunkTokens: 2 });
  const chat = { messages: [{ role: 'user', content: 'x'.repeat(1000) }], max_tokens: 4 };
  const body = JSON.stringify({ ...chat, stream: true });
  const answer = complete(sidecar, { path: '/v1/chat/completions', body });
  const piece = async (reason: string): Promise<void> => {
    const visit = await bed.engine.next();
    expect(await buffered(sidecar)).toBeGreaterThanOrEqual(body.length);
    const choice = { message: { content: 'a' }, finish_reason: reason };
    visit.response.end(JSON.stringify({ choices: [choice], usage: { completion_tokens: 2 } }));
  };
  await piece('length');
  await piece('stop');
  await (await answer).text();
  await eventually(
    () => buffered(sidecar),
    (bytes) => bytes === 0,
  );
});
