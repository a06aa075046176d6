import { afterEach, describe, expect, test } from 'vitest';
import { readCommandLine } from '../../stub-server/engine-args/read-command-line.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';

/** Chats that are answered with images, as by llm-d-inference-sim with `--omni`. */

let pool: StubPool | undefined;
afterEach(async () => {
  await pool?.stop();
  pool = undefined;
});

async function start(...args: readonly string[]): Promise<string> {
  const common = { own: {}, ownNames: [], environment: {}, asSimulator: true };
  const { options, idle } = readCommandLine({ ...common, args: ['--model', 'm', ...args] });
  expect(idle).toEqual([]);
  pool = await startStubPool(stubOptions.parse({ ...options, host: '127.0.0.1', port: 0 }));
  return pool.endpoints[0]?.address ?? '';
}

const post = (address: string, path: string, body: object, headers = {}): Promise<Response> =>
  fetch(`http://${address}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

const ASKS = { 'x-send-image': 'true' };
const IMAGE = {
  type: 'image_url',
  image_url: { url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) },
};

function chat(address: string, more = {}, headers = {}): Promise<Response> {
  const messages = [{ role: 'user', content: 'draw a cat' }];
  const body = { model: 'm', messages, max_tokens: 3, ...more };
  return post(address, '/v1/chat/completions', body, headers);
}

interface Whole {
  readonly choices: readonly { readonly message: { readonly content: unknown } }[];
}

async function contentOf(response: Response): Promise<unknown> {
  return ((await response.json()) as Whole).choices[0]?.message.content;
}

describe('a server that makes images', () => {
  test('[D552] answers a chat that asks for one with text and an image', async () => {
    const address = await start('--omni');
    expect(await contentOf(await chat(address))).toEqual(expect.any(String));
    const content = await contentOf(await chat(address, {}, ASKS));
    expect(content).toEqual([{ type: 'text', text: expect.any(String) }, IMAGE]);
    const text = await post(address, '/v1/completions', { model: 'm', prompt: 'a' }, ASKS);
    expect(JSON.stringify(await text.json())).not.toContain('image_url');
  });

  test('[D552] streams the image as a chunk behind the text', async () => {
    const address = await start('--omni');
    const stream = await chat(address, { stream: true, n: 2 }, ASKS);
    const events = (await stream.text()).split('\n\n').filter((event) => event.startsWith('data'));
    expect(events.pop()).toBe('data: [DONE]');
    const chunks = events.map((event) => JSON.parse(event.slice('data: '.length)) as object);
    const choice = (index: number): object => ({
      modality: 'image',
      choices: [{ index, delta: { content: [IMAGE] } }],
    });
    expect(chunks.slice(-2)).toMatchObject([choice(0), choice(1)]);
    const parts = chunks.slice(0, -2).filter((chunk) => JSON.stringify(chunk).includes('"text"'));
    expect(parts.length).toBeGreaterThan(0);
  });

  test('[D552] sends them by chance, at a rate that can change while it runs', async () => {
    const address = await start('--omni', '--image-emission-rate=100');
    expect(await contentOf(await chat(address))).toEqual([expect.anything(), IMAGE]);
    const change = { 'image-emission-rate': 0, 'time-to-generate-image': 2_000_000 };
    const changed = await post(address, '/admin/config', change);
    expect(await changed.json()).toMatchObject({
      omni: true,
      'image-emission-rate': 0,
      'time-to-generate-image': '2ms',
    });
    expect(await contentOf(await chat(address))).toEqual(expect.any(String));
    expect(await contentOf(await chat(address, {}, ASKS))).toEqual([expect.anything(), IMAGE]);
  });

  test('[D552] makes none without the flag, and refuses to change their rate', async () => {
    const address = await start('--no-omni', '--image-emission-rate=100');
    expect(await contentOf(await chat(address, {}, ASKS))).toEqual(expect.any(String));
    const refused = await post(address, '/admin/config', { 'image-emission-rate': 5 });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining('start it with omni'),
    ]);
  });

  test('[D552] has a deviation of at most 30 % of the time of an image', () => {
    const images = { ms: 100, deviationMs: 31 };
    expect(() => stubOptions.parse({ count: 1, model: 'm', images })).toThrow(/30 %/);
  });
});

test('[D553] fake metrics change by the path that the simulator had first', async () => {
  const address = await start('--fake-metrics', '{"running-requests":1}');
  expect((await post(address, '/fake_metrics', { 'running-requests': 7 })).status).toBe(204);
  const page = await (await fetch(`http://${address}/metrics`)).text();
  expect(page).toMatch(/^vllm:num_requests_running\{[^}]*\} 7/m);
  expect((await post(address, '/fake_metrics', { nothing: 7 })).status).toBe(400);
});
