import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Access } from './access.ts';
import { HttpError, type Readiness } from './admin-routes.ts';
import { type AdminServer, type AdminServerOptions, startAdminServer } from './admin-server.ts';

const READY: Readiness = { ok: true, state: 'ready', reasons: [], detail: {} };

let server: AdminServer | undefined;

afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function start(
  ready: Readiness = READY,
  more: Partial<AdminServerOptions> = {},
): Promise<string> {
  server = await startAdminServer({
    host: '127.0.0.1',
    port: 0,
    metricsPage: () =>
      Promise.resolve({
        contentType: 'text/plain; version=0.0.4; charset=utf-8',
        body: 'a_total 1\n',
      }),
    ready: () => ready,
    documents: new Map<string, (query: URLSearchParams) => unknown>([
      [
        '/debug/which',
        (query) => {
          const id = query.get('id');
          if (id === null) throw new HttpError(400, 'say which');
          return { id };
        },
      ],
      ['/debug/endpoints', () => ({ ageMs: Number.POSITIVE_INFINITY })],
      [
        '/broken',
        () => {
          throw new Error('the pool is upside down');
        },
      ],
    ]),
    ...more,
  });
  return `http://127.0.0.1:${server.port}`;
}

/** What the server says to raw bytes until it closes the connection. */
function say(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => resolve(received));
    socket.on('close', () => resolve(received));
  });
}

describe('startAdminServer', () => {
  it('serves the metrics page in the form of Prometheus', async () => {
    const response = await fetch(`${await start()}/metrics?x=1`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).toBe('a_total 1\n');
  });

  it('is alive whether or not it is ready, and says why it is not ready', async () => {
    const not: Readiness = {
      ok: false,
      state: 'not ready',
      reasons: ['there are no endpoints'],
      detail: { endpoints: 0 },
    };
    const url = await start(not);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual(not);
  });

  it('gives a document what was asked, and answers what it refuses', async () => {
    const url = await start();
    const good = await fetch(`${url}/debug/which?id=a%20b`);
    expect(await good.json()).toEqual({ id: 'a b' });
    const bad = await fetch(`${url}/debug/which`);
    expect([bad.status, await bad.json()]).toEqual([400, { error: 'say which' }]);
  });

  it('writes an infinite age as null, for JSON has no infinity', async () => {
    const response = await fetch(`${await start()}/debug/endpoints`);
    expect(await response.json()).toEqual({ ageMs: null });
  });

  it('lists its pages where another is asked for', async () => {
    const response = await fetch(`${await start()}/nowhere`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: 'nothing at /nowhere',
      paths: ['/metrics', '/healthz', '/readyz', '/debug/which', '/debug/endpoints', '/broken'],
    });
  });

  it('[O454] leads from the bare port to what there is, as lines or as links', async () => {
    const files = new Map([
      ['/ui', { contentType: 'text/html', headers: {}, bytes: () => new Uint8Array(1) }],
      [
        '/ui/app.js',
        { contentType: 'text/javascript', headers: {}, bytes: () => new Uint8Array() },
      ],
    ]);
    const actions = new Map([['/debug/promote', () => ({})]]);
    const url = await start(READY, { files, actions });
    for (const path of ['/', '/debug']) {
      const lines = await (await fetch(`${url}${path}`)).text();
      expect(lines).toMatch(/^\/ui +the live page$/m);
      expect(lines).toMatch(/^\/debug\/endpoints +each endpoint/m);
      expect(lines).not.toMatch(/app\.js|promote/);
      const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
      const page = await fetch(`${url}${path}`, { headers: { accept } });
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(await page.text()).toContain('<li><a href="/readyz">/readyz</a>: whether it takes');
      const head = await fetch(`${url}${path}`, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
    }
  });

  it('is for reading: other methods get 405 and the methods allowed', async () => {
    const response = await fetch(`${await start()}/metrics`, { method: 'POST', body: 'x' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD');
    await response.text();
  });

  it('[V77] serves a page that comes in pieces, with its length', async () => {
    const piece = new TextEncoder().encode('a_total 1\n'.repeat(5000));
    server = await startAdminServer({
      host: '127.0.0.1',
      port: 0,
      metricsPage: () =>
        Promise.resolve({
          contentType: 'text/plain',
          body: Array.from({ length: 40 }, () => piece),
        }),
      ready: () => READY,
      documents: new Map(),
    });
    const url = `http://127.0.0.1:${server.port}/metrics`;
    const page = await fetch(url);
    expect(page.headers.get('content-length')).toBe('2000000');
    expect((await page.text()).length).toBe(2_000_000);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.headers.get('content-length'), await head.text()]).toEqual(['2000000', '']);
  });

  it('answers HEAD without a body', async () => {
    const response = await fetch(`${await start()}/metrics`, { method: 'HEAD' });
    expect(response.headers.get('content-length')).toBe('10');
    expect(await response.text()).toBe('');
  });

  it('survives a page that throws and says what was wrong', async () => {
    const url = await start();
    const response = await fetch(`${url}/broken`);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: '/broken failed: the pool is upside down' });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('hangs up on garbage and on headers without end', async () => {
    await start();
    const port = server?.port ?? 0;
    expect(await say(port, '\u0000\u0001garbage\r\n\r\n')).toContain('400 Bad Request');
    const endless = `GET /metrics HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(64 * 1024)}`;
    expect(await say(port, endless)).toContain('431');
  });

  it('does not wait for a body it will not read', async () => {
    await start();
    const request = 'POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\nonly this';
    expect(await say(server?.port ?? 0, request)).toContain('405 Method Not Allowed');
  });

  it('[V21] does nothing for a refused request, and says what is missing', async () => {
    let changed = 0;
    const refusals: unknown[] = [];
    const url = await start(undefined, {
      actions: new Map([['/change', () => ({ changed: ++changed })]]),
      onRefused: (path, { status }) => refusals.push([path, status]),
    });
    const response = await fetch(`${url}/change`, { method: 'POST' });
    expect([response.status, await response.json(), changed]).toEqual([
      403,
      { error: 'nothing can be changed here: start the picker with --admin-token-file' },
      0,
    ]);
    expect(refusals).toEqual([['/change', 403]]);
  });

  it('[V22] refuses a foreign Host and Origin for pages that show requests', async () => {
    const url = await start();
    const { port } = new URL(url);
    const asked = (headers: string): Promise<string> =>
      say(Number(port), `GET /debug/endpoints HTTP/1.1\r\n${headers}\r\nconnection: close\r\n\r\n`);
    expect(await asked('host: evil.example:9090')).toContain('403 Forbidden');
    expect(await asked('host: localhost\r\norigin: http://evil.example')).toContain(
      '403 Forbidden',
    );
    expect(await asked('host: localhost')).toContain('200 OK');
  });

  it('[V23] asks a guard for the metrics page, which may take its time', async () => {
    const refusal = { status: 401, sentence: 'no' } as const;
    const metrics = async (token: string | undefined) => (token === 'right' ? undefined : refusal);
    const url = await start(undefined, { access: new Access({ metrics }) });
    const without = await fetch(`${url}/metrics`);
    expect([without.status, without.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    await without.text();
    const headers = { authorization: 'Bearer right' };
    expect(await (await fetch(`${url}/metrics`, { headers })).text()).toBe('a_total 1\n');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('[V24] answers a probe while a client holds all connections', async () => {
    const url = await start(undefined, { connectionsMax: 4 });
    const port = server?.port ?? 0;
    const held = Array.from({ length: 12 }, () =>
      say(port, 'GET /metrics HTTP/1.1\r\nhost: x\r\n'),
    );
    // The first to be held are cut for the last.
    expect(await Promise.all(held.slice(0, 8))).toEqual(Array.from({ length: 8 }, () => ''));
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('[V225] cuts a connection that asks again before it has its answer, however often', async () => {
    let pages = 0;
    const metricsPage = async () => ({ contentType: 'text/plain', body: `page ${++pages}` });
    const url = await start(undefined, { metricsPage });
    const ask = 'GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n';
    expect(await say(server?.port ?? 0, ask.repeat(5000))).toBe('');
    expect(pages).toBeLessThanOrEqual(1);
    const response = await fetch(`${url}/healthz`);
    expect(response.status).toBe(200);
  });

  it('[V225] answers one request after the other on one connection', async () => {
    await start();
    const ask = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
    const socket = connect(server?.port ?? 0, '127.0.0.1');
    for (let n = 0; n < 20; n++) {
      socket.write(ask);
      const [answer] = await once(socket, 'data');
      expect(String(answer)).toContain('200 OK');
    }
    socket.destroy();
  });

  it('[V225] keeps the bytes of unread answers within a bound, and others get theirs', async () => {
    const bytes = 16 * 2 ** 20;
    const page = [new Uint8Array(bytes)];
    const metricsPage = () => Promise.resolve({ contentType: 'text/plain', body: page });
    const url = await start(undefined, { metricsPage, replyBytesMax: 2.5 * bytes });
    const unread = Array.from({ length: 4 }, () => {
      const socket = connect(server?.port ?? 0, '127.0.0.1');
      socket.on('error', () => undefined).pause();
      const cut = new Promise((resolve) => socket.once('close', resolve));
      socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n');
      return { socket, cut };
    });
    const whole = await (await fetch(`${url}/metrics`)).arrayBuffer();
    expect(whole.byteLength).toBe(bytes);
    // Those that have been cut see so once they read.
    for (const { socket } of unread.slice(0, 2)) socket.resume();
    await Promise.all(unread.slice(0, 2).map(({ cut }) => cut));
    for (const { socket } of unread) socket.destroy();
  });

  it('says which address it could not listen on', async () => {
    await start();
    const port = server?.port ?? 0;
    const again = startAdminServer({
      host: '127.0.0.1',
      port,
      metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: '' }),
      ready: () => READY,
      documents: new Map(),
    });
    await expect(again).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
  });
});
