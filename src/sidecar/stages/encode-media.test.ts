import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { sidecarOptions } from '../../../test/support/sidecar/sidecar-options.ts';
import { listedServers } from '../options/allowed-servers.ts';
import { type Sidecar, startSidecar } from '../start-sidecar.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

interface Server {
  readonly address: string;
  readonly received: Received[];
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A model server that records its requests and answers them by `answer`. */
async function serverThat(
  answer: (asked: Received) => object | undefined,
  status = 200,
): Promise<Server> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Received['body'];
      const asked = { headers: request.headers, body };
      received.push(asked);
      const said = answer(asked);
      // Without an answer the connection stays open until it is closed.
      if (said !== undefined) response.writeHead(status).end(JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  stops.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function sidecarBefore(engine: Server, encoders?: readonly string[]): Promise<Sidecar> {
  const allowed = encoders && { encoders: listedServers(encoders) };
  const sidecar = await startSidecar(sidecarOptions({ engine: engine.address, ...allowed }));
  stops.push(() => sidecar.stop());
  return sidecar;
}

const image = (url: string): object => ({ type: 'image_url', image_url: { url } });
const SOUND = { type: 'input_audio', input_audio: { data: 'QUJD', format: 'wav' } };
const TEXT = { type: 'text', text: 'What is this?' };
const MESSAGES = [
  { role: 'user', content: [TEXT, image('http://a/1.png'), SOUND] },
  { role: 'assistant', content: 'A goat.' },
  { role: 'user', content: [image('http://a/1.png'), image('http://a/2.png')] },
];

function chat(
  sidecar: Sidecar,
  headers: Readonly<Record<string, string>>,
  messages: readonly object[] = MESSAGES,
): Promise<number> {
  return fetch(`http://${sidecar.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'r1', ...headers },
    body: JSON.stringify({ model: 'm', messages, max_tokens: 50, stream: true }),
  }).then(async (response) => {
    await response.text();
    return response.status;
  });
}

const encoder = (name: string): Promise<Server> =>
  serverThat(({ headers }) => ({
    ec_transfer_params: { [String(headers['x-request-id'])]: { peer_host: name } },
  }));

describe('media encoded elsewhere', () => {
  it('goes item by item to the encoders in turn, what comes twice once, and where it is goes on with the request', async () => {
    const engine = await serverThat(() => ({}));
    const [a, b] = [await encoder('a'), await encoder('b')];
    const sidecar = await sidecarBefore(engine);
    expect(await chat(sidecar, { 'x-encoder-hosts-ports': `${a.address}, ${b.address}` })).toBe(
      200,
    );
    const contents = [...a.received, ...b.received].map(({ body }) => body);
    const one = (item: object): object => ({
      model: 'm',
      messages: [{ role: 'user', content: [item] }],
      max_tokens: 1,
      max_completion_tokens: 1,
      stream: false,
    });
    expect(contents).toHaveLength(3);
    for (const item of [image('http://a/1.png'), SOUND, image('http://a/2.png')]) {
      expect(contents).toContainEqual(one(item));
    }
    expect([a.received.length, b.received.length]).toEqual([2, 1]);
    expect(engine.received[0]?.headers['x-encoder-hosts-ports']).toBeUndefined();
    expect(engine.received.map(({ body }) => body)).toEqual([
      {
        model: 'm',
        messages: MESSAGES,
        max_tokens: 50,
        stream: true,
        ec_transfer_params: {
          'r1-enc-0': { peer_host: 'a' },
          'r1-enc-1': { peer_host: 'b' },
          'r1-enc-2': { peer_host: 'a' },
        },
      },
    ]);
    expect(sidecar.counts).toEqual({ prefilled: 0, encoded: 1, fellBack: 0 });
  });

  it('comes before the prompt, which is computed with it', async () => {
    const engine = await serverThat(() => ({}));
    const prefiller = await serverThat(() => ({ kv_transfer_params: { remote_host: 'p' } }));
    const sidecar = await sidecarBefore(engine);
    const hosts = {
      'x-encoder-hosts-ports': (await encoder('a')).address,
      'x-prefiller-host-port': prefiller.address,
    };
    await chat(sidecar, hosts, [{ role: 'user', content: [SOUND] }]);
    const where = { ec_transfer_params: { 'r1-enc-0': { peer_host: 'a' } } };
    expect(prefiller.received[0]?.body).toMatchObject({ ...where, max_tokens: 1 });
    const kv = { kv_transfer_params: { remote_host: 'p' } };
    expect(engine.received[0]?.body).toMatchObject({ ...where, ...kv, max_tokens: 50 });
    expect(sidecar.counts).toEqual({ prefilled: 1, encoded: 1, fellBack: 0 });
  });

  it('leaves the request as it is where one of the items fails, and waits for no other', async () => {
    const engine = await serverThat(() => ({}));
    const broken = await serverThat(() => ({}), 500);
    const silent = await serverThat(() => undefined);
    const sidecar = await sidecarBefore(engine);
    const encoders = `${silent.address},${broken.address}`;
    expect(await chat(sidecar, { 'x-encoder-hosts-ports': encoders })).toBe(200);
    const sent = { model: 'm', messages: MESSAGES, max_tokens: 50, stream: true };
    expect(engine.received.map(({ body }) => body)).toEqual([sent]);
    expect(sidecar.counts).toEqual({ prefilled: 0, encoded: 0, fellBack: 1 });
  });

  it('asks no server about text or about more than 256 items, and no server that is not allowed', async () => {
    const engine = await serverThat(() => ({}));
    const never = await encoder('never');
    const hosts = { 'x-encoder-hosts-ports': never.address };
    const [any, none] = [await sidecarBefore(engine), await sidecarBefore(engine, [])];
    await chat(any, hosts, [{ role: 'user', content: 'Only text.' }]);
    const many = Array.from({ length: 257 }, (_, index) => image(`http://a/${index}`));
    await chat(any, hosts, [{ role: 'user', content: many }]);
    await chat(none, hosts);
    expect(never.received).toEqual([]);
    expect(engine.received).toHaveLength(3);
    expect([any.counts.fellBack, none.counts.fellBack]).toEqual([1, 0]);
  });
});
