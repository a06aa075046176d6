import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  envoyBinary,
  eventually,
  type Stack,
  type StackOptions,
  startStack,
} from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import { sha256, startUpstream, type Upstream } from '../support/servers/upstream.ts';

/** Model rewrites and objectives of an endpoints file, through a real Envoy. */

const binary = await envoyBinary();
const MODES = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config', 'processing_mode'];
const withModes =
  (request: string, response: string): NonNullable<StackOptions['edit']> =>
  (config) => {
    config.setIn([...MODES, 'request_body_mode'], request);
    config.setIn([...MODES, 'request_trailer_mode'], 'SKIP');
    config.setIn([...MODES, 'response_body_mode'], response);
    config.setIn([...MODES, 'response_trailer_mode'], 'SKIP');
  };

/** `restores`: whether the gateway sends the answer to the picker. */
const WIRINGS: readonly (readonly [string, Pick<StackOptions, 'envoy' | 'edit'>, boolean])[] = [
  ['envoy.yaml', { envoy: 'envoy' }, true],
  ['envoy-efficient.yaml', { envoy: 'envoy-efficient' }, false],
  ['BUFFERED bodies', { envoy: 'envoy', edit: withModes('BUFFERED', 'BUFFERED') }, true],
  [
    'BUFFERED_PARTIAL bodies',
    { envoy: 'envoy', edit: withModes('BUFFERED_PARTIAL', 'STREAMED') },
    true,
  ],
  ['BUFFERED and STREAMED', { envoy: 'envoy', edit: withModes('BUFFERED', 'STREAMED') }, true],
];

const chat = (model: string, content = 'hi'): string =>
  `{"messages":[{"role":"user", "content":"${content}"}], "stream":false,"model" : "${model}", "a":1}`;
const answer = (model: string): string =>
  `{"id":"x","usage":{"prompt_tokens":5,"completion_tokens":2},"model": "${model}","b":"chat-v2"}`;

describe.skipIf(binary === undefined).each(WIRINGS)(
  'a model served by another, with %s',
  (_name, wiring, restores) => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-rewrite-'));
    const endpointsFile = join(folder, 'endpoints.yaml');
    let upstream: Upstream;
    let stack: Stack;

    function writeRules(target: string): void {
      const [address, port] = upstream.address.split(':');
      writeFileSync(
        endpointsFile,
        JSON.stringify({
          endpoints: [{ name: 'a', address, port }],
          objectives: { interactive: 7 },
          modelRewrites: [{ name: 'canary', models: ['chat'], targets: [{ model: target }] }],
        }),
      );
    }

    const post = (body: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });

    beforeAll(async () => {
      upstream = await startUpstream();
      writeRules('chat-v2');
      stack = await startStack(binary ?? '', {
        ...wiring,
        endpoints: [],
        serve: { endpointsFile },
      });
      upstream.answer((_received, response) => {
        const text = answer('chat-v2');
        response.setHeader('content-type', 'application/json');
        response.setHeader('content-length', text.length);
        response.end(text);
      });
    });
    afterAll(async () => {
      await stack?.stop();
      await upstream?.stop();
      rmSync(folder, { recursive: true });
    });

    it('reaches the model server under that name, with every other byte unchanged', async () => {
      for (const content of ['hi', 'x'.repeat(60_000)]) {
        const response = await post(chat('chat', content));
        expect([response.status, await response.text()]).toEqual([
          200,
          answer(restores ? 'chat' : 'chat-v2'),
        ]);
        const sent = chat('chat-v2', content);
        expect(upstream.received.at(-1)).toMatchObject({
          bodyBytes: sent.length,
          bodySha256: sha256(sent),
        });
        expect(upstream.received.at(-1)?.headers['accept-encoding']).toBeUndefined();
      }
    });

    it('replaces the name in a long body before most of the body has arrived', async () => {
      const long = (model: string): string =>
        `{"model":"${model}","messages":[{"role":"user", "content":"${'x'.repeat(300_000)}"}]}`;
      const response = await post(long('chat'));
      expect(response.status).toBe(200);
      await response.text();
      const sent = long('chat-v2');
      expect(upstream.received.at(-1)).toMatchObject({
        bodyBytes: sent.length,
        bodySha256: sha256(sent),
      });
    });

    it('never reaches the model server under the old name, even if that arrives late', async () => {
      const content = 'x'.repeat(300_000);
      const before = upstream.received.length;
      const response = await post(chat('chat', content));
      await response.text();
      await eventually(stack.inFlight, (count) => count === 0);
      // Where the body streams past the picker, it may have left before its name arrived.
      const streams = wiring.envoy === 'envoy-efficient';
      expect(streams ? [200, 400] : [200]).toContain(response.status);
      const whole = upstream.received.slice(before).map(({ bodySha256 }) => bodySha256);
      expect(whole).toEqual(response.status === 200 ? [sha256(chat('chat-v2', content))] : []);
    });

    it('changes no byte of other requests and their answers', async () => {
      const response = await post(chat('other'));
      expect(await response.text()).toBe(answer('chat-v2'));
      expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(chat('other')));
    });

    it('[V56] is not what a header of the client asks for', async () => {
      await post(chat('other'), { 'x-gateway-model-name-rewrite': 'longer-than-other' });
      expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(chat('other')));
      await post(chat('chat'), { 'x-llm-d-model-name-rewrite': 'longer-than-other' });
      expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(chat('chat-v2')));
    });

    it('[V57] is asked without the transfer parameters of the client', async () => {
      const body = `{"kv_transfer_params" : {"remote_host":"10.0.0.1"},${chat('chat').slice(1)}`;
      await post(body);
      const { bodySha256 } = upstream.received.at(-1) ?? {};
      expect(bodySha256).toBe(sha256(`{"kv_transfer_params":null,${chat('chat-v2').slice(1)}`));
      const metrics = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`);
      expect(await metrics.text()).toMatch(
        /pointsman_client_controls_ignored_total\{control="kv_transfer_params"\} 1/,
      );
    });

    it('is counted with the requested model, the serving model and the objective’s priority', async () => {
      await post(chat('chat'), { 'x-gateway-inference-objective': 'interactive' });
      const metrics = await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`);
      const page = await metrics.text();
      expect(page).toContain(
        'llm_d_epp_request_total{fairness_id="default-flow",model_name="chat",priority="7",target_model_name="chat-v2"} 1\n',
      );
      expect(page).toMatch(
        /llm_d_epp_model_rewrite_decisions_total\{model_name="chat",model_rewrite_name="canary",target_model="chat-v2"\} \d/,
      );
    });

    it('changes as soon as the file changes', async () => {
      writeRules('chat-v3');
      const rules = `http://127.0.0.1:${stack.serving.metricsPort}/debug/rules`;
      await eventually(
        async () => (await fetch(rules)).text(),
        (text) => text.includes('chat-v3'),
      );
      await post(chat('chat'));
      expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(chat('chat-v3')));
      writeRules('chat-v2');
      await eventually(
        async () => (await fetch(rules)).text(),
        (text) => text.includes('chat-v2'),
      );
    });
  },
);

it.skipIf(binary === undefined)(
  'an event stream gets its model’s name back where Envoy cuts it in two, without any delay',
  async () => {
    const upstream = await startUpstream();
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-rewrite-'));
    const endpointsFile = join(folder, 'endpoints.yaml');
    const [address, port] = upstream.address.split(':');
    const modelRewrites = [{ models: ['chat'], targets: [{ model: 'served-7b' }] }];
    const rules = { endpoints: [{ name: 'a', address, port }], modelRewrites };
    writeFileSync(endpointsFile, JSON.stringify(rules));
    const stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: [],
      serve: { endpointsFile },
    });
    let next: () => void = () => undefined;
    const pieces = [
      'data: {"id":1,"mod',
      'el":"served',
      '-7b","choices":[{"text":"served-7b"}]}\n\ndata: {"id":2,"model":"served-7',
      'b"}\n\n',
      'data: [DONE]\n\n',
    ];
    upstream.answer(async (_received, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const piece of pieces) {
        // The next chunk is sent when the client has the complete part of the previous one.
        const asked = new Promise<void>((resolve) => {
          next = resolve;
        });
        response.write(piece);
        await asked;
      }
      response.end();
    });
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      body: chat('chat'),
      headers: { 'content-type': 'application/json' },
    });
    const seen: string[] = [];
    for await (const bytes of response.body ?? []) {
      seen.push(Buffer.from(bytes).toString());
      next();
    }
    expect(seen).toEqual([
      'data: {"id":1,"mod',
      'el":',
      '"chat","choices":[{"text":"served-7b"}]}\n\ndata: {"id":2,"model":',
      '"chat"}\n\n',
      'data: [DONE]\n\n',
    ]);
    await eventually(stack.inFlight, (count) => count === 0);
    await stack.stop();
    await upstream.stop();
    rmSync(folder, { recursive: true });
  },
);

it.skipIf(binary === undefined)('a canary gets its share of the requests', async () => {
  const upstream = await startUpstream();
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-rewrite-'));
  const endpointsFile = join(folder, 'endpoints.yaml');
  const [address, port] = upstream.address.split(':');
  const targets = [
    { model: 'stable', weight: 75 },
    { model: 'canary', weight: 25 },
  ];
  const modelRewrites = [{ name: 'split', models: ['chat'], targets }];
  const rules = { endpoints: [{ name: 'a', address, port }], modelRewrites };
  writeFileSync(endpointsFile, JSON.stringify(rules));
  const stack = await startStack(binary ?? '', {
    envoy: 'envoy',
    endpoints: [],
    serve: { endpointsFile, seed: 4 },
  });
  const hashes = new Map(['stable', 'canary'].map((model) => [sha256(chat(model)), model]));
  for (let n = 0; n < 400; n++) {
    const headers = { 'content-type': 'application/json' };
    const url = `${stack.url}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', body: chat('chat'), headers });
    await response.arrayBuffer();
  }
  const models = upstream.received.map(({ bodySha256 }) => hashes.get(bodySha256));
  expect(models).toHaveLength(400);
  expect(models.every((model) => model !== undefined)).toBe(true);
  const canaries = models.filter((model) => model === 'canary').length;
  // Four standard deviations of the binomial distribution are 35.
  expect(Math.abs(canaries - 100)).toBeLessThan(35);
  await stack.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true });
});
