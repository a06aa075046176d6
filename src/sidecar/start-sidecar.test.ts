import { once } from 'node:events';
import {
  type ClientRequest,
  createServer as createHttpServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { generate } from 'selfsigned';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import type { ScriptedServer } from '../../test/support/scripted-server.ts';
import { SidecarBed } from '../../test/support/sidecar-bed.ts';
import type { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { listedServers } from './allowed-servers.ts';
import { SIDECAR_BOUNDS } from './sidecar-options.ts';
import type { Sidecar } from './start-sidecar.ts';

const ASKED = { model: 'm', prompt: 'a prompt', max_tokens: 20 };
const KV = { do_remote_prefill: true, remote_host: '10.0.0.9', remote_port: 5600 };

let engine: ScriptedServer;
let prefiller: ScriptedServer;
let clock: SimulatedClock;
const bed = new SidecarBed();
const { logged, stops } = bed;
const started = bed.started.bind(bed);

beforeEach(async () => {
  ({ engine, prefiller, clock } = await bed.begin());
});
afterEach(() => bed.end());

interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly path?: string;
}

function complete(sidecar: Sidecar, { body = ASKED, headers, signal, path }: Sent = {}) {
  return fetch(`http://${sidecar.address}${path ?? '/v1/completions'}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** A request whose prompt is to be computed elsewhere. */
const apart = (): Pick<Sent, 'headers'> => ({
  headers: { 'x-prefiller-host-port': prefiller.address },
});

async function metric(sidecar: Sidecar, line: string): Promise<number> {
  const page = await sidecar.registry.metrics();
  return Number(
    page
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length),
  );
}
const open = (sidecar: Sidecar): Promise<number> =>
  metric(sidecar, 'pointsman_sidecar_open_requests');
const outcomes = (sidecar: Sidecar, outcome: string): Promise<number> =>
  metric(sidecar, `pointsman_sidecar_requests_total{outcome="${outcome}"}`);

const { prefillTimeoutMs, encodeTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = SIDECAR_BOUNDS;
const { uploadTimeoutMs, clientIdleTimeoutMs, connectTimeoutMs } = SIDECAR_BOUNDS;

describe('other servers that are silent', () => {
  it('[V60] computes a prompt here when the prefilling server does not answer in time', async () => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    const visit = await prefiller.next();
    clock.advanceTo(prefillTimeoutMs);
    await visit.closed;
    const here = await engine.next();
    expect(JSON.parse(here.body)).toEqual(ASKED);
    here.response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts.fellBack).toBe(1);
    expect(logged).toEqual([
      `prefill at ${prefiller.address} failed, computing here: did not answer within ${prefillTimeoutMs} ms`,
    ]);
    const line = 'pointsman_sidecar_stages_total{stage="prefill",outcome="timeout"}';
    expect(await metric(sidecar, line)).toBe(1);
  });

  it('[V60] does so, too, when the answer begins and does not end', async () => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    (await prefiller.next()).response.write('{"id":');
    // The headers are on their way while the clock jumps: the limit is for the whole.
    clock.advanceTo(prefillTimeoutMs);
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it('[V60] encodes media here when an encoder does not answer in time', async () => {
    const sidecar = await started();
    const content = [{ type: 'image_url', image_url: { url: 'http://a/1.png' } }];
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    const headers = { 'x-encoder-hosts-ports': prefiller.address };
    const answer = complete(sidecar, { body, headers, path: '/v1/chat/completions' });
    await prefiller.next();
    clock.advanceTo(encodeTimeoutMs);
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts).toMatchObject({ encoded: 0, fellBack: 1 });
  });

  it('[V60] computes a prompt here when the connection does not come about', async () => {
    // Accepts the connection and answers no TLS handshake.
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const accepted = once(silent, 'connection');
    stops.push(async () => void silent.close());
    const sidecar = await started({ tls: { roles: ['prefiller'], unverified: [] } });
    const { port } = silent.address() as AddressInfo;
    const headers = { 'x-prefiller-host-port': `127.0.0.1:${port}` };
    const answer = complete(sidecar, { headers });
    await accepted;
    clock.advanceTo(connectTimeoutMs);
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(logged.join()).toContain(`no connection within ${connectTimeoutMs} ms`);
  });

  it('[V62] answers 504 when the engine sends no headers in time', async () => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await engine.next();
    clock.advanceTo(firstByteTimeoutMs);
    await visit.closed;
    expect((await answer).status).toBe(504);
    expect(await outcomes(sidecar, 'engine-failed')).toBe(1);
  });

  it('[V62] answers 503 while the engine does not listen', async () => {
    const sidecar = await started();
    await engine.stop();
    expect((await complete(sidecar)).status).toBe(503);
  });

  it.each([
    ['/v1/completions', { message: 'M', type: 'ServiceUnavailable', param: null, code: 503 }],
    ['/v1/messages', { message: 'M', type: 'overloaded_error' }],
  ])('[B216] answers clients of %s with an error in the form of their API', async (path, error) => {
    const sidecar = await started();
    await engine.stop();
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    const answer = await fetch(`http://${sidecar.address}${path}`, init);
    const body = (await answer.json()) as { type?: string; error: { message: string } };
    expect(body.error.message).toContain(engine.address);
    expect({ ...body, error: { ...body.error, message: 'M' } }).toEqual(
      path === '/v1/messages' ? { type: 'error', error } : { error },
    );
  });

  it.each([
    ['breaks off', (): void => undefined],
    ['falls silent', (): void => clock.advanceTo(clock.now() + idleTimeoutMs)],
  ])('[V62] ends an answer with an error when the engine %s', async (what, silence) => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await engine.next();
    visit.response.write('data: 1\n\n');
    const reader = (await answer).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
    if (what === 'breaks off') visit.response.destroy();
    silence();
    await expect(reader?.read()).rejects.toThrow();
    await visit.closed;
    expect(await outcomes(sidecar, 'engine-failed')).toBe(1);
  });

  it('[V62] resets the connection of a client that knows no chunks', async () => {
    const sidecar = await started();
    const [host = '', port = ''] = sidecar.address.split(':');
    const socket = connect(Number(port), host);
    socket.write('GET /v1/models HTTP/1.0\r\n\r\n');
    const visit = await engine.next();
    visit.response.write('half');
    await once(socket, 'data');
    visit.response.destroy();
    const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNRESET');
  });

  it('does not count the time in which the client reads', async () => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await engine.next();
    visit.response.write('1');
    const response = await answer;
    clock.advanceTo(idleTimeoutMs - 1);
    visit.response.write('2');
    await eventually(
      () => metric(sidecar, 'pointsman_sidecar_open_requests'),
      (count) => count === 1,
    );
    visit.response.end('3');
    expect(await response.text()).toBe('123');
  });
});

describe('answers of a prefilling server that cannot be used', () => {
  const page = (text: string) => (response: ServerResponse) => void response.end(text);
  it.each([
    ['no JSON', page('<html>')],
    ['no object', page('[1]')],
    ['no parameters', page('{"id":"x"}')],
    ['null', page('{"kv_transfer_params":null}')],
    ['parameters of the wrong type', page('{"kv_transfer_params":["10.0.0.9"]}')],
    ['an object of 3 MB', page(JSON.stringify({ kv_transfer_params: { a: 'x'.repeat(3e6) } }))],
    ['too many levels', page('{"a":'.repeat(1000))],
    ['an error', (response: ServerResponse) => void response.writeHead(500).end('{}')],
    [
      'a redirect',
      (response: ServerResponse) =>
        void response.writeHead(307, { location: `http://${engine.address}/elsewhere` }).end(),
    ],
    ['a reset', (response: ServerResponse) => void response.socket?.resetAndDestroy()],
    ['half of it', (response: ServerResponse) => response.write('{', () => response.destroy())],
    [
      'no HTTP',
      (response: ServerResponse) => void response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n\r\n'),
    ],
    [
      'endless headers',
      (response: ServerResponse) => void response.setHeader('x', 'x'.repeat(1e6)).end('{}'),
    ],
  ])('[V65] leave the prompt to the engine: %s', async (_, answerWith) => {
    const sidecar = await started();
    const answer = complete(sidecar, apart());
    answerWith((await prefiller.next()).response);
    const visit = await engine.next();
    expect([visit.path, JSON.parse(visit.body)]).toEqual(['/v1/completions', ASKED]);
    visit.response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts).toEqual({ prefilled: 0, encoded: 0, fellBack: 1 });
  });

  it('[V65] leave one line in the log for many, and the next line counts the others', async () => {
    const sidecar = await started();
    for (let index = 0; index < 4; index++) {
      const answer = complete(sidecar, apart());
      (await prefiller.next()).response.writeHead(500).end();
      (await engine.next()).response.end('{}');
      await answer;
      if (index === 2) clock.advanceTo(1_000);
    }
    const line = `prefill at ${prefiller.address} failed, computing here: answered 500`;
    expect(logged).toEqual([line, `${line} (and 2 more before)`]);
  });
});

describe('what a client may ask for', () => {
  it('[V63] no prompt goes to a server that is not allowed', async () => {
    const sidecar = await started({ prefillers: listedServers(['10.1.0.0/16']) });
    const refused = await complete(sidecar, apart());
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining(`x-prefiller-host-port names ${prefiller.address}`),
    ]);
    expect([prefiller.visits, engine.visits]).toEqual([0, 0]);
    const line = 'pointsman_sidecar_stages_total{stage="prefill",outcome="denied"}';
    expect(await metric(sidecar, line)).toBe(1);
  });

  it.each(['/v1/completions', '/v1/c%6fmpletions', '/v1/responses', '/inference/v1/generate'])(
    '[V64] no KV of other servers reaches the engine at %s',
    async (path) => {
      const sidecar = await started();
      const body = { ...ASKED, kv_transfer_params: KV };
      const answer = complete(sidecar, { body, path });
      const visit = await engine.next();
      expect([visit.path, JSON.parse(visit.body)]).toEqual([path, ASKED]);
      visit.response.end('{}');
      await answer;
    },
  );

  it('[V64] the parameters of the prefilling server replace those of the client', async () => {
    const sidecar = await started();
    const body = { ...ASKED, kv_transfer_params: { remote_host: 'evil' } };
    const answer = complete(sidecar, { body, ...apart() });
    (await prefiller.next()).response.end(JSON.stringify({ kv_transfer_params: KV }));
    const visit = await engine.next();
    expect(JSON.parse(visit.body)).toEqual({ ...ASKED, kv_transfer_params: KV });
    // A second try has none either.
    visit.response.writeHead(500).end();
    const again = await engine.next();
    expect(JSON.parse(again.body)).toEqual(ASKED);
    again.response.end('{}');
    expect((await answer).status).toBe(200);
  });

  it('passes on what is no JSON as it is', async () => {
    const sidecar = await started();
    const headers = { 'content-type': 'audio/wav' };
    const answer = complete(sidecar, { path: '/v1/audio', body: 'RIFF', headers });
    const visit = await engine.next();
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
    const tls = { roles: ['prefiller' as const], unverified, ca: trusted ? cert : undefined };
    const sidecar = await started({ tls });
    const headers = { 'x-prefiller-host-port': `127.0.0.1:${port}` };
    const answer = complete(sidecar, { headers });
    (await engine.next()).response.end('{}');
    expect((await answer).status).toBe(200);
    expect(sidecar.counts.prefilled).toBe(prefilled);
  });
});

describe('a client that leaves', () => {
  async function left(sidecar: Sidecar, during: () => Promise<{ closed: Promise<void> }>) {
    const leaving = new AbortController();
    const answer = complete(sidecar, { ...apart(), signal: leaving.signal });
    answer.catch(() => undefined);
    const visit = await during();
    leaving.abort();
    await visit.closed;
    await expect(answer).rejects.toThrow();
    await eventually(
      () => open(sidecar),
      (count) => count === 0,
    );
    expect(await outcomes(sidecar, 'client-gone')).toBe(1);
    expect(sidecar.counts.fellBack).toBe(0);
    expect(logged).toEqual([]);
  }

  it('[V61] takes the prefill with it, and the engine is not asked', async () => {
    const sidecar = await started();
    await left(sidecar, () => prefiller.next());
    expect(engine.visits).toBe(0);
  });

  it('[V61] takes the generation with it before the engine’s headers', async () => {
    const sidecar = await started();
    await left(sidecar, async () => {
      (await prefiller.next()).response.end(JSON.stringify({ kv_transfer_params: KV }));
      return engine.next();
    });
  });

  it('[V61] takes the generation with it within the answer', async () => {
    const sidecar = await started();
    const leaving = new AbortController();
    const answer = complete(sidecar, { signal: leaving.signal });
    const visit = await engine.next();
    visit.response.write('data: 1\n\n');
    await answer;
    leaving.abort();
    await visit.closed;
  });

  it('[V61] and one that leaves within its upload causes no request', async () => {
    const sidecar = await started();
    const upload = startUpload(sidecar, 100);
    upload.on('error', () => undefined);
    upload.write('{');
    await eventually(
      () => open(sidecar),
      (count) => count === 1,
    );
    upload.destroy();
    await eventually(
      () => open(sidecar),
      (count) => count === 0,
    );
    expect(engine.visits).toBe(0);
    expect(await metric(sidecar, 'pointsman_sidecar_buffered_bytes')).toBe(0);
  });
});

/** An upload that announces so many bytes. */
function startUpload(sidecar: Sidecar, bytes: number): ClientRequest {
  const headers = { 'content-type': 'application/json', 'content-length': bytes };
  const url = `http://${sidecar.address}/v1/completions`;
  const upload = httpRequest(url, { method: 'POST', headers, agent: false });
  upload.flushHeaders();
  return upload;
}

async function statusOf(upload: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe('bounds', () => {
  it('[V66] refuses a body that is too long with 413, also without an announced length', async () => {
    const sidecar = await started({ bounds: { bodyBytesMax: 1000 } });
    expect(await statusOf(startUpload(sidecar, 1001))).toBe(413);
    const url = `http://${sidecar.address}/v1/completions`;
    const upload = httpRequest(url, { method: 'POST', agent: false });
    upload.write('x'.repeat(1001));
    expect(await statusOf(upload)).toBe(413);
    expect(engine.visits).toBe(0);
  });

  it('[V66] refuses the newest upload with 503 when all together hold too much', async () => {
    const sidecar = await started({ bounds: { bufferedBytesMax: 1000 } });
    const held = startUpload(sidecar, 900);
    held.write(`{"prompt":"${'x'.repeat(600)}`);
    const buffered = (): Promise<number> => metric(sidecar, 'pointsman_sidecar_buffered_bytes');
    await eventually(buffered, (bytes) => bytes > 600);
    const newest = startUpload(sidecar, 900);
    newest.write('x'.repeat(600));
    expect(await statusOf(newest)).toBe(503);
    held.destroy();
    held.on('error', () => undefined);
    await eventually(buffered, (bytes) => bytes === 0);
  });

  it('[V66] holds no body while the engine answers', async () => {
    const sidecar = await started();
    const answer = complete(sidecar);
    const visit = await engine.next();
    visit.response.write('1');
    await answer;
    await eventually(
      () => metric(sidecar, 'pointsman_sidecar_buffered_bytes'),
      (bytes) => bytes === 0,
    );
  });

  it('[V66] gives the memory of a body back while the engine answers', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // Keeps nothing of a request.
    const forgetful = createHttpServer((request, response) => {
      request.resume().on('end', () => void response.write('1'));
    });
    await new Promise<void>((resolve) => void forgetful.listen(0, '127.0.0.1', resolve));
    stops.push(async () => {
      forgetful.closeAllConnections();
      forgetful.close();
    });
    const { port } = forgetful.address() as AddressInfo;
    const sidecar = await started({ engine: `127.0.0.1:${port}` });
    const body = Buffer.from(JSON.stringify({ prompt: 'x'.repeat(1_000_000) }));
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 40; count++) {
      const upload = startUpload(sidecar, body.length).end(body);
      await once(upload, 'response');
    }
    const held = (): number => {
      collect();
      return process.memoryUsage().arrayBuffers - before;
    };
    await eventually(held, (bytes) => bytes < 10_000_000);
    expect(await open(sidecar)).toBe(40);
  });

  it('[V66] refuses one open request too many with 503 and serves the others', async () => {
    const sidecar = await started({ bounds: { requestsMax: 1 } });
    const first = complete(sidecar);
    const visit = await engine.next();
    const refused = await complete(sidecar);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    visit.response.end('{}');
    expect((await first).status).toBe(200);
  });

  it.each([
    ['that stands still', clientIdleTimeoutMs, 1],
    ['that trickles', uploadTimeoutMs, Math.ceil(uploadTimeoutMs / (clientIdleTimeoutMs / 2))],
  ])('[V66] refuses an upload %s with 408', async (_, limitMs, steps) => {
    const sidecar = await started();
    const upload = startUpload(sidecar, 1000);
    const status = statusOf(upload);
    const buffered = (): Promise<number> => metric(sidecar, 'pointsman_sidecar_buffered_bytes');
    upload.write('{');
    await eventually(buffered, (bytes) => bytes === 1);
    for (let step = 1; step <= steps; step++) {
      clock.advanceTo((step * limitMs) / steps);
      if (step === steps) break;
      upload.write(' ');
      await eventually(buffered, (bytes) => bytes === step + 1);
    }
    expect(await status).toBe(408);
    upload.destroy();
  });

  it('[V66] lets go of an answer that its client does not read', async () => {
    const sidecar = await started({ bounds: { idleTimeoutMs: 0, firstByteTimeoutMs: 0 } });
    const [host = '', port = ''] = sidecar.address.split(':');
    const socket = connect(Number(port), host);
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n');
    const { response, closed } = await engine.next();
    const chunk = Buffer.alloc(64 * 1024);
    const fill = (): void => {
      while (!response.destroyed && response.write(chunk)) continue;
    };
    response.on('drain', fill);
    fill();
    // The limit only passes once the buffers on the way are full.
    await eventually(
      () => {
        clock.advanceTo(clock.now() + clientIdleTimeoutMs);
        return open(sidecar);
      },
      (count) => count === 0,
    );
    await closed;
    socket.destroy();
  });

  it('[V66] refuses headers over 64 KiB with 431', async () => {
    const sidecar = await started();
    const headers = { 'x-long': 'x'.repeat(70_000) };
    expect((await complete(sidecar, { headers })).status).toBe(431);
  });
});

describe('the end of the sidecar', () => {
  const times = { drainNoticeMs: 5_000, drainTimeoutMs: 60_000 };

  it('[V67] fails health checks first, and takes new connections until gateways have noticed', async () => {
    const sidecar = await started();
    const health = (): Promise<Response> => fetch(`http://${sidecar.address}/health`);
    const healthy = health();
    (await engine.next()).response.end();
    expect((await healthy).status).toBe(200);
    const ended = sidecar.drain(times);
    expect((await health()).status).toBe(503);
    const late = complete(sidecar);
    (await engine.next()).response.end('{}');
    const { status, headers } = await late;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    clock.advanceTo(times.drainNoticeMs);
    await ended;
    await expect(health()).rejects.toThrow();
  });

  it('[V67] lets streams end, and cuts those that last longer than the time-out', async () => {
    const sidecar = await started();
    const [short, long] = [complete(sidecar), complete(sidecar)];
    const visits = [await engine.next(), await engine.next()];
    for (const { response } of visits) response.write('1');
    const answers = [await short, await long];
    const ended = sidecar.drain(times);
    clock.advanceTo(times.drainNoticeMs);
    visits[0]?.response.end('2');
    const texts = answers.map((answer) => answer.text().catch(() => 'cut'));
    expect(await Promise.race(texts)).toBe('12');
    // The drain has begun to wait when the port is closed.
    await eventually(
      () =>
        fetch(`http://${sidecar.address}/`).then(
          () => 'open',
          () => 'closed',
        ),
      (state) => state === 'closed',
    );
    clock.advanceTo(times.drainNoticeMs + times.drainTimeoutMs);
    await ended;
    expect((await Promise.all(texts)).toSorted()).toEqual(['12', 'cut']);
    await visits[1]?.closed;
  });
});
