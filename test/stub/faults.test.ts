import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { chaos } from '../../stub-server/faults/chaos.ts';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests();

async function begin(fault: object): Promise<number> {
  const response = await fetch(stub.url('/stub/faults'), {
    method: 'POST',
    body: JSON.stringify(fault),
  });
  return response.status;
}

function ask(fields: object = {}): Promise<Response> {
  return fetch(stub.url('/v1/completions'), {
    method: 'POST',
    body: JSON.stringify({ model: 'm', prompt: 'x', max_tokens: 20, ignore_eos: true, ...fields }),
  });
}

const metrics = async (): Promise<string> => (await fetch(stub.url('/metrics'))).text();

describe('faults of the stub', () => {
  afterEach(async () => {
    await fetch(stub.url('/stub/faults'), { method: 'DELETE' });
  });

  it('refuses connections, and serves again when the fault ends', async () => {
    expect(await begin({ kind: 'refuse' })).toBe(200);
    await expect(ask()).rejects.toThrow();
    await expect(metrics()).rejects.toThrow();
    await fetch(stub.url('/stub/faults?kind=refuse'), { method: 'DELETE' });
    expect((await ask()).status).toBe(200);
  });

  it('hangs', async () => {
    await begin({ kind: 'hang' });
    const answer = fetch(stub.url('/health'), { signal: AbortSignal.timeout(150) });
    await expect(answer).rejects.toThrow(/time/);
  });

  it('answers with an error status, of generating requests only', async () => {
    await begin({ kind: 'error', status: 500 });
    expect((await ask()).status).toBe(500);
    expect((await fetch(stub.url('/health'))).status).toBe(200);
  });

  it('answers a POST with 200 and no body, and goes on to show its metrics', async () => {
    await begin({ kind: 'empty' });
    const answer = await ask();
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(await metrics()).toContain('vllm:');
  });

  it('drops a stream in its middle', async () => {
    await begin({ kind: 'drop', afterTokens: 2 });
    // A client of HTTP may discard what it has read when the connection breaks.
    const { host, hostname, port } = new URL(stub.url('/'));
    const body = JSON.stringify({ model: 'm', prompt: 'x', max_tokens: 20, stream: true });
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    let text = '';
    socket.on('data', (piece) => {
      text += String(piece);
    });
    socket.write(
      `POST /v1/completions HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, 'close').catch(() => undefined);
    // A process that cannot keep up sends both tokens in one piece.
    const pieces = text.match(/^data: /gm) ?? [];
    expect([1, 2]).toContain(pieces.length);
    expect(text).not.toContain('[DONE]');
  });

  it('sends half a body', async () => {
    await begin({ kind: 'truncate' });
    await expect(ask().then((response) => response.text())).rejects.toThrow();
  });

  it('shows metrics that are stale, garbage or not there', async () => {
    const requests = (page: string): string | undefined =>
      page.split('\n').find((line) => line.startsWith('vllm:generation_tokens_total'));
    const before = requests(await metrics());
    await begin({ kind: 'stale-metrics' });
    await (await ask()).text();
    expect(requests(await metrics())).toBe(before);
    await fetch(stub.url('/stub/faults'), { method: 'DELETE' });
    expect(requests(await metrics())).not.toBe(before);
    await begin({ kind: 'garbage-metrics' });
    expect(await metrics()).not.toContain('vllm:');
    await begin({ kind: 'no-metrics' });
    expect((await fetch(stub.url('/metrics'))).status).toBe(404);
  });

  it('gets stuck: the queue grows and nothing finishes, until it is mended', async () => {
    await begin({ kind: 'stuck' });
    const answer = ask();
    const [endpoint] = stub.pool().endpoints;
    await expect.poll(() => endpoint?.engine.runningCount).toBe(1);
    await fetch(stub.url('/stub/faults'), { method: 'DELETE' });
    expect((await answer).status).toBe(200);
  });

  it('crashes: work and cache are lost, and it comes back empty', async () => {
    await (await ask({ prompt: 'y'.repeat(400) })).text();
    const [endpoint] = stub.pool().endpoints;
    expect(endpoint?.engine.kv.pool.cached).toBeGreaterThan(0);
    const lost = ask({ max_tokens: 100_000 });
    await expect.poll(() => endpoint?.engine.runningCount).toBe(1);
    await begin({ kind: 'crash' });
    expect((await lost).status).toBe(500);
    await expect(ask()).rejects.toThrow();
    await fetch(stub.url('/stub/faults'), { method: 'DELETE' });
    expect(endpoint?.engine.kv.pool.cached).toBe(0);
    expect((await ask()).status).toBe(200);
  });

  it('rejects an unknown fault with a reason', async () => {
    expect(await begin({ kind: 'slow' })).toBe(400);
    expect(await begin({ kind: 'gremlins' })).toBe(400);
  });

  it('shows its state', async () => {
    await begin({ kind: 'slow', factor: 3 });
    const state = await (await fetch(stub.url('/stub/state'))).json();
    expect(state).toMatchObject({
      name: 'stub-0',
      ready: true,
      running: 0,
      kv: { blocks: 27_000, held: 0 },
      faults: [{ kind: 'slow', factor: 3 }],
    });
  });
});

describe('faults on a schedule', () => {
  const fault = { kind: 'error', status: 503, share: 1 } as const;
  const scheduled = stubPoolForTests({
    count: 3,
    // One is never seen to end, the other need not be seen to begin: however busy the machine is.
    faults: [
      { server: 1, atMs: 2000, forMs: 1e9, fault },
      { server: 2, atMs: 0, forMs: 5000, fault },
    ],
  });

  it('begin and end when they are due, on the server they are for', async () => {
    const status = async (server: number): Promise<number> => {
      const response = await fetch(scheduled.url('/v1/completions', server), {
        method: 'POST',
        body: JSON.stringify({ model: 'm', prompt: 'x', max_tokens: 1 }),
      });
      await response.text();
      return response.status;
    };
    expect(await status(0)).toBe(200);
    await eventually(
      () => status(1),
      (now) => now === 503,
    );
    await eventually(
      () => status(2),
      (now) => now === 200,
    );
  });

  it('are the same for the same seed', () => {
    const options = { servers: 8, everyMs: 1000, forMs: 500, untilMs: 60_000 };
    const drawn = chaos(seededRandom(3), options);
    expect(chaos(seededRandom(3), options)).toEqual(drawn);
    expect(chaos(seededRandom(4), options)).not.toEqual(drawn);
    expect(drawn.length).toBeGreaterThan(30);
    expect(drawn.every(({ server, atMs }) => server < 8 && atMs < 60_000)).toBe(true);
  });
});
