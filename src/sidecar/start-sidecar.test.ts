import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { sidecarBed } from '../../test/support/sidecar/sidecar-bed.ts';
import {
  ASKED,
  complete,
  metric,
  prefilledAt,
  type Sent,
} from '../../test/support/sidecar/sidecar-client.ts';
import { listedServers } from './options/allowed-servers.ts';

const KV = { do_remote_prefill: true, remote_host: '10.0.0.9', remote_port: 5600 };

const bed = sidecarBed();
const { stops } = bed;
const started = bed.started.bind(bed);

const apart = (): Pick<Sent, 'headers'> => prefilledAt(bed.prefiller);

describe('what a client may ask for', () => {
  it('[V63] no prompt goes to a server that is not allowed', async () => {
    const sidecar = await started({ prefillers: listedServers(['10.1.0.0/16']) });
    const refused = await complete(sidecar, apart());
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining(`x-prefiller-host-port names ${bed.prefiller.address}`),
    ]);
    expect([bed.prefiller.visits, bed.engine.visits]).toEqual([0, 0]);
    const line = 'pointsman_sidecar_stages_total{stage="prefill",outcome="denied"}';
    expect(await metric(sidecar, line)).toBe(1);
  });

  it.each([
    ['/v1/completions', '/v1/completions'],
    ['/v1/c%6fmpletions', '/v1/completions'],
    ['/v1/completions/', '/v1/completions'],
    ['//v1/responses', '/v1/responses'],
    ['/inference/v1/generate', '/inference/v1/generate'],
  ])(
    '[V64] no KV of other servers reaches the engine at %s, whatever the type',
    async (path, plain) => {
      const sidecar = await started();
      const body = { ...ASKED, kv_transfer_params: KV };
      const headers = { 'content-type': 'text/plain' };
      const answer = complete(sidecar, { body, path, headers });
      const visit = await bed.engine.next();
      expect([visit.path, JSON.parse(visit.body)]).toEqual([plain, ASKED]);
      visit.response.end('{}');
      await answer;
    },
  );

  it('[V64] no KV of other servers reaches the engine at a whole URL, whatever the type', async () => {
    const sidecar = await started();
    const [host, port] = sidecar.address.split(':');
    const path = 'http://other/v1/completions';
    const request = httpRequest({ host, port, path, method: 'POST', agent: false });
    request.setHeader('content-type', 'text/plain');
    request.end(JSON.stringify({ ...ASKED, kv_transfer_params: KV }));
    const visit = await bed.engine.next();
    expect([visit.path, JSON.parse(visit.body)]).toEqual(['/v1/completions', ASKED]);
    visit.response.end('{}');
    await once(request, 'response');
    request.destroy();
  });

  it('[V64] the parameters of the prefilling server replace those of the client', async () => {
    const sidecar = await started();
    const body = { ...ASKED, kv_transfer_params: { remote_host: 'evil' } };
    const answer = complete(sidecar, { body, ...apart() });
    (await bed.prefiller.next()).response.end(JSON.stringify({ kv_transfer_params: KV }));
    const visit = await bed.engine.next();
    expect(JSON.parse(visit.body)).toEqual({ ...ASKED, kv_transfer_params: KV });
    // A second try has none either.
    visit.response.writeHead(500).end();
    const again = await bed.engine.next();
    expect(JSON.parse(again.body)).toEqual(ASKED);
    again.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it('passes on what is no JSON as it is', async () => {
    const sidecar = await started();
    const headers = { 'content-type': 'audio/wav' };
    const answer = complete(sidecar, { path: '/v1/audio', body: 'RIFF', headers });
    const visit = await bed.engine.next();
    expect([visit.body, visit.headers['content-length']]).toEqual(['RIFF', '4']);
    visit.response.end();
    await answer;
  });
});

describe('TLS to a prefilling server', () => {
  const certificateOf = (ip: string): ReturnType<typeof generate> =>
    generate([{ name: 'commonName', value: 'server' }], {
      keySize: 2048,
      algorithm: 'sha256',
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip }] }],
    });

  it.each([
    ['is used where its CA is trusted', '127.0.0.1', { trusted: true, unverified: [] }, 1],
    ['is refused for another address', '127.0.0.2', { trusted: true, unverified: [] }, 0],
    ['is refused from an unknown CA', '127.0.0.1', { trusted: false, unverified: [] }, 0],
    [
      'is not verified where a flag says so',
      '127.0.0.2',
      { trusted: false, unverified: ['prefiller' as const] },
      1,
    ],
  ])('[V68] %s', async (_, ip, { trusted, unverified }, prefilled) => {
    const { cert, private: key } = await certificateOf(ip);
    const secure = createSecureServer({ cert, key }, (_request, response) => {
      response.end(JSON.stringify({ kv_transfer_params: KV }));
    });
    await new Promise<void>((resolve) => void secure.listen(0, '127.0.0.1', resolve));
    stops.push(async () => {
      secure.closeAllConnections();
      secure.close();
    });
    const { port } = secure.address() as AddressInfo;
    const tls = { roles: ['prefiller' as const], unverified, ca: trusted ? () => cert : undefined };
    const sidecar = await started({ tls });
    const headers = { 'x-prefiller-host-port': `127.0.0.1:${port}` };
    const answer = complete(sidecar, { headers });
    (await bed.engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts.prefilled).toBe(prefilled);
  });
});

it('[D500] answers health checks itself where it is asked to, also while the engine loads', async () => {
  const sidecar = await started({ health: 'sidecar', engine: '127.0.0.1:9' });
  const url = `http://${sidecar.address}/health`;
  expect((await fetch(url)).status).toBe(200);
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${url}/ready`)).status).toBe(503);
  const ended = sidecar.drain({ drainNoticeMs: 5_000, drainTimeoutMs: 60_000 });
  expect((await fetch(url)).status).toBe(503);
  bed.clock.advanceTo(5_000);
  await portClosed(sidecar);
  // A connection that a client has kept is closed after a second.
  bed.clock.advanceTo(6_000);
  await ended;
});

/** From then on the drain waits for what is open. */
async function portClosed({ address }: { readonly address: string }): Promise<void> {
  await eventually(
    () =>
      fetch(`http://${address}/`).then(
        () => 'open',
        () => 'closed',
      ),
    (state) => state === 'closed',
  );
}

describe('the end of the sidecar', () => {
  const times = { drainNoticeMs: 5_000, drainTimeoutMs: 60_000 };

  it('[V67] fails health checks first, and takes new connections until gateways have noticed', async () => {
    const sidecar = await started();
    const health = (): Promise<Response> => fetch(`http://${sidecar.address}/health`);
    const healthy = health();
    (await bed.engine.next()).response.end();
    expect((await healthy).status).toBe(200);
    const ended = sidecar.drain(times);
    expect((await health()).status).toBe(503);
    const late = complete(sidecar);
    (await bed.engine.next()).response.end('{}');
    const { status, headers } = await late;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    bed.clock.advanceTo(times.drainNoticeMs);
    await ended;
    await expect(health()).rejects.toThrow();
  });

  it('[V67] lets streams end, and cuts those that last longer than the time-out', async () => {
    const sidecar = await started();
    const [short, long] = [complete(sidecar), complete(sidecar)];
    const visits = [await bed.engine.next(), await bed.engine.next()];
    for (const { response } of visits) response.write('1');
    const answers = [await short, await long];
    const ended = sidecar.drain(times);
    bed.clock.advanceTo(times.drainNoticeMs);
    visits[0]?.response.end('2');
    const texts = answers.map((answer) => answer.text().catch(() => 'cut'));
    expect(await Promise.race(texts)).toBe('12');
    await portClosed(sidecar);
    bed.clock.advanceTo(times.drainNoticeMs + times.drainTimeoutMs);
    await ended;
    expect((await Promise.all(texts)).toSorted()).toEqual(['12', 'cut']);
    await visits[1]?.closed;
  });
});

it('[V552] headers that a connection names, or that are for a proxy, go no further', async () => {
  const sidecar = await started();
  const [host, port] = sidecar.address.split(':');
  const headers = {
    connection: 'close, X-Secret ,x-other',
    'x-secret': '1',
    'X-Other': '2',
    'x-kept': '3',
    'proxy-authorization': 'Basic YTpi',
  };
  const path = '/v1/models';
  const request = httpRequest({ host, port, path, headers, agent: false }).end();
  const visit = await bed.engine.next();
  expect(Object.keys(visit.headers).toSorted()).toEqual([
    'connection',
    'host',
    'x-kept',
    'x-request-id',
  ]);
  visit.response.setHeader('connection', ['X-Inner, x-second', 'x-third']);
  for (const name of ['x-inner', 'x-second', 'x-third', 'x-kept'])
    visit.response.setHeader(name, '1');
  visit.response.setHeader('proxy-authenticate', 'Basic');
  visit.response.end('{}');
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.resume();
  expect(Object.keys(answer.headers).toSorted()).toEqual([
    'connection',
    'date',
    'transfer-encoding',
    'x-kept',
  ]);
});
