import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import type { Certificate } from '../../src/extproc/server/port/tls-credentials.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { issue, newAuthority } from '../support/servers/certificates.ts';

/** What llm-d-inference-sim’s servers do beside generating. */

const folder = mkdtempSync(join(tmpdir(), 'pointsman-simulator-'));
let pool: StubPool | undefined;
afterEach(async () => {
  await pool?.stop();
  pool = undefined;
});
afterAll(() => rmSync(folder, { recursive: true }));

async function start(options: object): Promise<string> {
  const common = { count: 1, port: 0, model: 'm', timings: {}, sequencesMax: 4 };
  pool = await startStubPool(stubOptions.parse({ ...common, ...options }));
  return pool.endpoints[0]?.address ?? '';
}

const JSON_TYPE = { 'content-type': 'application/json' };

function chat(address: string, body: object = {}, headers: object = {}): Promise<Response> {
  const messages = [{ role: 'user', content: 'say it again, please' }];
  return fetch(`http://${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body: JSON.stringify({ model: 'm', messages, max_tokens: 50, ...body }),
  });
}

async function textOf(response: Response): Promise<string> {
  const body = (await response.json()) as { choices: { message: { content: string } }[] };
  return body.choices[0]?.message.content ?? '';
}

function configure(address: string, change: object): Promise<Response> {
  const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(change) };
  return fetch(`http://${address}/admin/config`, init);
}

async function metric(address: string, name: string): Promise<string | undefined> {
  const page = await (await fetch(`http://${address}/metrics`)).text();
  return new RegExp(`^${name}\\{[^}]*\\} (.*)$`, 'm').exec(page)?.[1];
}

describe('answers', () => {
  test('[B16] echo what was asked last, whole and streamed', async () => {
    const address = await start({ mode: 'echo' });
    expect(await textOf(await chat(address))).toBe('say it again, please');
    const client = new OpenAI({ baseURL: `http://${address}/v1`, apiKey: 'none' });
    const stream = await client.completions.create({
      model: 'm',
      prompt: 'naïve 😀 text',
      stream: true,
      max_tokens: 100,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    expect(text).toBe('naïve 😀 text');
  });

  test('[B16] come from a data set: those to the same prompt, else any', async () => {
    const dataset = join(folder, 'answers.jsonl');
    const turns = [
      { role: 'user', content: 'say it again, please' },
      { role: 'assistant', content: 'I say it again.' },
    ];
    const lines = [{ messages: turns }, { prompt: 'other', response: 'Another answer.' }];
    writeFileSync(dataset, lines.map((line) => JSON.stringify(line)).join('\n'));
    const address = await start({ dataset });
    expect(await textOf(await chat(address))).toBe('I say it again.');
    const other = await chat(address, { messages: [{ role: 'user', content: 'unknown' }] });
    expect(['I say it again.', 'Another answer.']).toContain(await textOf(other));
  });

  test('[B16] of a data set that cannot be read are a fault of its line', async () => {
    const dataset = join(folder, 'wrong.jsonl');
    writeFileSync(dataset, '{"response":"a"}\n{"answer":"b"}\n');
    await expect(start({ dataset })).rejects.toThrow(/wrong.jsonl:\n {2}line 2: is no JSON with/);
  });
});

describe('failures', () => {
  test('[B20] are asked for by a header, one request at a time', async () => {
    const address = await start({});
    const failed = await chat(address, {}, { 'x-return-error': '429' });
    expect(failed.status).toBe(429);
    expect(await failed.json()).toMatchObject({ error: { type: 'RateLimitError', code: 429 } });
    expect((await chat(address)).status).toBe(200);
    expect((await chat(address, {}, { 'x-return-error': 'soon' })).status).toBe(400);
  });

  test('[B20] are drawn at their rate, among their types', async () => {
    const types = ['rate_limit', 'invalid_api_key'];
    const address = await start({ failures: { rate: 100, types } });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await chat(address)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([429, 401]));
  });

  test('[B19] refuse what finds the queue full with 429', async () => {
    const timings = { firstTokenMs: 200 };
    const address = await start({ timings, sequencesMax: 1, waitingMax: 1 });
    const faults = `http://${address}/stub/faults`;
    await fetch(faults, { method: 'POST', body: '{"kind":"stuck"}' });
    const first = chat(address, { max_tokens: 1 });
    await eventually(
      () => metric(address, 'vllm:num_requests_running'),
      (value) => value === '1.0',
    );
    const second = chat(address, { max_tokens: 1 });
    await eventually(
      () => metric(address, 'vllm:num_requests_waiting'),
      (value) => value === '1.0',
    );
    expect((await chat(address)).status).toBe(429);
    await fetch(faults, { method: 'DELETE' });
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });
});

describe('fake metrics', () => {
  const fakeMetrics = {
    'running-requests': 7,
    'waiting-requests': 'squarewave:3:3:1s',
    'kv-cache-usage': 0.25,
    'ttft-buckets-values': [0, 0, 5],
    'request-success-total': { stop: 20, length: 3 },
    'prefix-cache-hits': 40,
    loras: [
      { running: 'a,b', waiting: 'c', timestamp: 100 },
      { running: 'a', waiting: '', timestamp: 101 },
    ],
  };

  test('[B17] stand in place of the true ones, and change by parts', async () => {
    const address = await start({ fakeMetrics, loras: ['a'], lorasMax: 2 });
    await chat(address);
    const names = [
      'num_requests_running',
      'num_requests_waiting',
      'kv_cache_usage_perc',
      'prompt_tokens_total',
      'prefix_cache_hits_total',
      'time_to_first_token_seconds_count',
    ];
    const values = await Promise.all(names.map((name) => metric(address, `vllm:${name}`)));
    expect(values).toEqual(['7.0', '3.0', '0.25', '0.0', '40.0', '5.0']);
    const page = await (await fetch(`http://${address}/metrics`)).text();
    expect(page.match(/^vllm:lora_requests_info\{/gm)).toHaveLength(2);
    expect(page).toContain('running_lora_adapters="a,b",waiting_lora_adapters="c"} 100.0');
    expect((await configure(address, { 'fake-metrics': { 'running-requests': 1 } })).status).toBe(
      200,
    );
    expect(await metric(address, 'vllm:num_requests_running')).toBe('1.0');
    expect(await metric(address, 'vllm:num_requests_waiting')).toBe('3.0');
  });
});

describe('/admin/config', () => {
  test('[B18] says and changes times and failures while the server runs', async () => {
    const address = await start({ timings: { firstTokenMs: 1500, interTokenMs: 0.25 } });
    const read = await (await fetch(`http://${address}/admin/config`)).json();
    expect(read).toMatchObject({
      model: 'm',
      'time-to-first-token': '1.5s',
      'inter-token-latency': '250µs',
      'failure-injection-rate': 0,
    });
    const change = {
      'time-to-first-token': 2_000_000,
      'failure-injection-rate': 100,
      'failure-types': ['server_error'],
    };
    const changed = await configure(address, change);
    expect(await changed.json()).toMatchObject({ 'time-to-first-token': '2ms' });
    expect((await chat(address)).status).toBe(503);
  });

  test.each([
    [{ model: 'other' }, /model cannot change while the server runs/],
    [{ 'inter-token-latency': '10ms', 'inter-token-latency-std-dev': '5ms' }, /30 %/],
    [{ 'failure-injection-rate': 5, 'failure-types': ['fire'] }, /failure-types/],
    [{ 'fake-metrics': { 'running-requests': 1 } }, /shows true metrics/],
  ])('[B18] refuses %j and changes nothing', async (change, message) => {
    const address = await start({});
    const before = await (await fetch(`http://${address}/admin/config`)).text();
    const refused = await configure(address, change);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringMatching(message)]);
    expect(await (await fetch(`http://${address}/admin/config`)).text()).toBe(before);
  });
});

describe('a server', () => {
  test('[B21] names its pod, and sends request ids back where it is to', async () => {
    const address = await start({ pod: 'p-1', podNamespace: 'ns', requestIdHeaders: true });
    const { headers } = await chat(address, {}, { 'x-request-id': 'mine' });
    expect([
      headers.get('x-inference-pod'),
      headers.get('x-inference-namespace'),
      headers.get('x-inference-port'),
      headers.get('x-request-id'),
    ]).toEqual(['p-1', 'ns', address.split(':')[1], 'mine']);
  });

  test('[B21] demands one of its keys', async () => {
    const address = await start({ apiKeys: ['secret'] });
    expect((await chat(address)).status).toBe(401);
    expect((await chat(address, {}, { authorization: 'Bearer secret' })).status).toBe(200);
    expect((await fetch(`http://${address}/health`)).status).toBe(200);
  });

  test('[B23] is healthy before it is ready', async () => {
    const address = await start({ readyAfterMs: 60_000 });
    const status = async (path: string): Promise<number> =>
      (await fetch(`http://${address}${path}`)).status;
    expect([await status('/health'), await status('/health/ready')]).toEqual([200, 503]);
  });

  test('[B21] serves its model under several names', async () => {
    const address = await start({ aliases: ['n'], modelRoot: 'org/m' });
    expect((await chat(address, { model: 'n' })).status).toBe(200);
    expect((await chat(address, { model: 'org/m' })).status).toBe(404);
    const { data } = (await (await fetch(`http://${address}/v1/models`)).json()) as {
      data: object[];
    };
    expect(data).toMatchObject([
      { id: 'm', root: 'org/m' },
      { id: 'n', root: 'org/m' },
    ]);
  });
});

describe('TLS', () => {
  let authority: Certificate;
  beforeAll(async () => {
    authority = await newAuthority('ours');
  });

  /** The subject of the server's certificate and the status of /health. */
  function probe(address: string): Promise<readonly [string, number | undefined]> {
    return new Promise((resolve, reject) => {
      get(`https://${address}/health`, { rejectUnauthorized: false, agent: false }, (answer) => {
        const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
        answer.resume();
        resolve([String(subject.CN), answer.statusCode]);
      }).on('error', reject);
    });
  }

  test('[B22] is served with the files of a certificate, and with later ones', async () => {
    const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const write = async (name: string): Promise<void> => {
      const { cert, key } = await issue(authority, name);
      writeFileSync(`${keyFile}.new`, key);
      writeFileSync(`${certFile}.new`, cert);
      renameSync(`${keyFile}.new`, keyFile);
      renameSync(`${certFile}.new`, certFile);
    };
    await write('first.test');
    const address = await start({ tls: { certFile, keyFile } });
    expect(await probe(address)).toEqual(['first.test', 200]);
    await write('second.test');
    await eventually(
      () => probe(address),
      ([name]) => name === 'second.test',
    );
    await expect(start({ tls: { certFile, keyFile: certFile } })).rejects.toThrow(/ssl-certfile/);
  });

  test('[B22] is served with a certificate of its own making', async () => {
    expect(await probe(await start({ tls: 'self-signed' }))).toEqual(['pointsman-stub', 200]);
  });
});
