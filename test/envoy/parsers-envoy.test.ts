import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { PARSER_TYPES, type ParserType } from '../../src/framework/parser-type.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { byteSource } from '../support/byte-source.ts';
import { type GrpcCaller, grpcCaller } from '../support/grpc/grpc-caller.ts';
import { methodOf, PREDICTION_SERVICE, VLLM_ENGINE } from '../support/grpc/grpc-services.ts';
import { type GrpcUpstream, sha256, startGrpcUpstream } from '../support/grpc/grpc-upstream.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

const drawBytes = byteSource(21);

const binary = await envoyBinary();
const JSON_TYPE = { 'content-type': 'application/json' };
const SIZES = [1000, 400_000, 8_000_000] as const;

function planOf(types: readonly ParserType[]): PickerPlan {
  const text = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}, ${types.map((type) => `{type: ${type}}`).join()}]
requestHandler: {parsers: [${types.map((type) => `{pluginRef: ${type}}`).join()}]}
`;
  return loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
}

async function metricsOf(stack: Stack): Promise<string> {
  return (await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)).text();
}

const text = (bytes: number): string => drawBytes(bytes / 2).toString('hex');

/** By path: a body of about so many bytes. */
const BODIES: Readonly<Record<string, (bytes: number) => object>> = {
  '/v1/chat/completions': (bytes) => ({
    model: 'm',
    messages: [{ role: 'user', content: text(bytes) }],
  }),
  '/v1/completions': (bytes) => ({ model: 'm', prompt: text(bytes) }),
  '/v1/completions/render': (bytes) => ({ model: 'm', prompt: text(bytes) }),
  '/v1/responses': (bytes) => ({ model: 'm', input: text(bytes) }),
  '/v1/conversations': (bytes) => ({ model: 'm', items: [{ role: 'user', content: text(bytes) }] }),
  '/v1/images/generations': (bytes) => ({ model: 'm', prompt: text(bytes) }),
  '/v1/audio/speech': (bytes) => ({ model: 'm', input: text(bytes) }),
  '/v1/messages': (bytes) => ({
    model: 'm',
    max_tokens: 5,
    messages: [{ role: 'user', content: text(bytes) }],
  }),
  '/inference/v1/generate': (bytes) => ({ token_ids: Array(bytes / 5).fill(1234) }),
  '/generate': (bytes) => ({ input_ids: Array(bytes / 5).fill(1234) }),
  '/v1/rerank': (bytes) => ({ query: text(bytes) }),
};

describe.skipIf(binary === undefined)('behind a real Envoy', () => {
  describe('the parsers of HTTP', () => {
    let upstream: Upstream;
    let stack: Stack;
    beforeAll(async () => {
      upstream = await startUpstream();
      const endpoints = [upstream.address];
      const serve = { plan: planOf(PARSER_TYPES) };
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints, serve });
    });
    afterAll(async () => {
      await stack?.stop();
      await upstream?.stop();
    });

    it.each(Object.keys(BODIES))('[D32] pass bodies for %s byte for byte', async (path) => {
      for (const bytes of SIZES) {
        const body = JSON.stringify(BODIES[path]?.(bytes));
        const url = `${stack.url}${path}`;
        const response = await fetch(url, { method: 'POST', body, headers: JSON_TYPE });
        expect([response.status, await response.text()]).toEqual([200, '{"ok":true}']);
        expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(Buffer.from(body)));
      }
    });

    it('[D34] label images and conversations with their models', async () => {
      const body = JSON.stringify({ model: 'flux', prompt: 'a cat' });
      const url = `${stack.url}/v1/images/generations`;
      await fetch(url, { method: 'POST', body, headers: JSON_TYPE });
      expect(await metricsOf(stack)).toMatch(/request_total\{[^}]*model_name="flux"[^}]*\} 1/);
    });
  });

  describe('passthrough-parser', () => {
    let upstream: Upstream;
    let stack: Stack;
    beforeAll(async () => {
      upstream = await startUpstream();
      const serve = { plan: planOf(['passthrough-parser']), bodyBytesMax: 2 ** 20 };
      const endpoints = [upstream.address];
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints, serve });
    });
    afterAll(async () => {
      await stack?.stop();
      await upstream?.stop();
    });

    it.each([
      ['nothing', Buffer.from('')],
      ['an empty object', Buffer.from('{}')],
      ['no JSON', Buffer.from('{"model":')],
      ['400 KB', drawBytes(400_000)],
      ['more than is read', drawBytes(8_000_000)],
    ])('[D33] sends %s to a path of OpenAI’s on', async (_, body) => {
      const url = `${stack.url}/v1/chat/completions`;
      const response = await fetch(url, { method: 'POST', body, headers: JSON_TYPE });
      expect(response.status).toBe(200);
      expect(upstream.received.at(-1)?.bodySha256).toBe(sha256(body));
    });

    it('[D33] sends chunks on while the client still uploads', async () => {
      let came: () => void = () => undefined;
      const firstChunk = new Promise<void>((resolve) => {
        came = resolve;
      });
      const body = new ReadableStream({
        async start(controller) {
          controller.enqueue(Buffer.alloc(50_000));
          await firstChunk;
          controller.enqueue(Buffer.from('end'));
          controller.close();
        },
      });
      const url = `${stack.url}/v1/audio/transcriptions`;
      const response = fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit);
      // It is in flight, and so picked for, although its end has not come.
      await eventually(
        () => stack.inFlight(),
        (requests) => requests === 1,
      );
      came();
      expect((await response).status).toBe(200);
      expect(upstream.received.at(-1)?.bodyBytes).toBe(50_003);
    });
  });

  describe('the parsers of gRPC', () => {
    const generate = methodOf(VLLM_ENGINE, 'Generate');
    const embed = methodOf(VLLM_ENGINE, 'Embed');
    const chat = methodOf(PREDICTION_SERVICE, 'ChatCompletions');
    let upstream: GrpcUpstream;
    let stack: Stack;
    let caller: GrpcCaller;
    beforeAll(async () => {
      upstream = await startGrpcUpstream([VLLM_ENGINE, PREDICTION_SERVICE]);
      stack = await startStack(binary ?? '', {
        envoy: 'envoy',
        endpoints: [upstream.address],
        serve: { plan: planOf(['vllmgrpc-parser', 'vertexai-parser']) },
        edit: (config) => {
          const options = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
          const cluster = ['static_resources', 'clusters', 0, 'typed_extension_protocol_options'];
          const path = [...cluster, options, 'explicit_http_config'];
          config.setIn(path, { http2_protocol_options: {} });
        },
      });
      caller = grpcCaller(stack.url);
    });
    afterAll(async () => {
      caller?.close();
      await stack?.stop();
      upstream?.stop();
    });

    it.each(SIZES)(
      '[D35] pass prompts of %i bytes and their answers byte for byte',
      async (bytes) => {
        const ids = Array.from({ length: bytes / 4 }, (_, at) => at % 150_000);
        const answers = [
          { chunk: { token_ids: ids } },
          { complete: { output_ids: [1], prompt_tokens: 7, completion_tokens: 3 } },
        ].map((message) => generate.responseSerialize(message));
        upstream.answer(answers);
        const messages = [
          { tokenized: { input_ids: ids }, stream: true },
          { text: text(bytes) },
          {
            tokenized: { input_ids: [1] },
            mm_inputs: { pixel_values: { data: drawBytes(bytes) } },
          },
        ].map((message) => generate.requestSerialize(message));
        for (const message of messages) {
          const answer = await caller.call(generate.path, message);
          expect([answer.code, answer.details]).toEqual([0, '']);
          expect(answer.messages.map(sha256)).toEqual(answers.map(sha256));
          expect(upstream.received.at(-1)).toBe(sha256(message));
        }
      },
    );

    it('[D38] count the tokens of gRPC answers', async () => {
      upstream.answer([embed.responseSerialize({ embedding: [0.5], prompt_tokens: 4321 })]);
      const message = embed.requestSerialize({ tokenized: { input_ids: [1, 2] } });
      expect((await caller.call(embed.path, message)).code).toBe(0);
      const complete = { prompt_tokens: 11, completion_tokens: 1717, cached_tokens: 5 };
      upstream.answer([generate.responseSerialize({ complete })]);
      await caller.call(generate.path, generate.requestSerialize({ text: 'x' }));
      const page = await metricsOf(stack);
      const sum = /request_output_tokens_sum\{[^}]*\} (\d+)/.exec(page)?.[1];
      expect(Number(sum)).toBeGreaterThanOrEqual(1717);
      expect(page).toMatch(/request_input_tokens_sum\{[^}]*\} \d*4\d{3}/);
      expect(await stack.inFlight()).toBe(0);
    });

    it.each([
      ['in place of an answer', []],
      ['behind a part of an answer', [generate.responseSerialize({ chunk: { token_ids: [1] } })]],
    ])(
      '[D464] count what an engine says to be unavailable as its error: %s',
      async (_, answers) => {
        const errors = async (): Promise<number> =>
          Number(
            /request_error_total\{[^}]*ModelServerError[^}]*\} (\d+)/.exec(
              await metricsOf(stack),
            )?.[1] ?? 0,
          );
        const before = await errors();
        upstream.answer(answers, 14);
        const message = generate.requestSerialize({ text: 'x', stream: true });
        expect((await caller.call(generate.path, message)).code).toBe(14);
        // An I/O worker says it to the thread that counts after the client has its answer.
        await expect.poll(errors, { timeout: 60_000 }).toBe(before + 1);
        upstream.answer(answers, 3);
        expect((await caller.call(generate.path, message)).code).toBe(3);
        expect(await errors()).toBe(before + 1);
      },
    );

    it('[D35] let the service’s other methods pass', async () => {
      upstream.answer([Buffer.from('pong')]);
      const path = methodOf(VLLM_ENGINE, 'HealthCheck').path;
      const answer = await caller.call(path, Buffer.alloc(0));
      expect([answer.code, String(answer.messages[0])]).toEqual([0, 'pong']);
    });

    it.each(SIZES)('[D37] pass JSON of %i bytes within Vertex AI’s messages', async (bytes) => {
      const json = { model: 'm', messages: [{ role: 'user', content: text(bytes) }] };
      const data = Buffer.from(JSON.stringify(json));
      const message = chat.requestSerialize({ endpoint: 'e', http_body: { data } });
      const answer = Buffer.from('{"usage":{"prompt_tokens":1,"completion_tokens":2}}');
      upstream.answer([chat.responseSerialize({ data: answer })]);
      expect((await caller.call(chat.path, message)).code).toBe(0);
      expect(upstream.received.at(-1)).toBe(sha256(message));
    });

    it.each([
      ['no message', 'Generate', Buffer.from([0xff, 0xff]), 3],
      ['no input', 'Generate', Buffer.alloc(0), 3],
      ['another service', '/x.Y/Z', Buffer.alloc(0), 3],
    ])('[D30] refuse %s with a gRPC status', async (_, method, message, code) => {
      const path = method.startsWith('/') ? method : methodOf(VLLM_ENGINE, method).path;
      const answer = await caller.call(path, message);
      expect(answer.code).toBe(code);
      expect(answer.details).not.toContain('{');
      expect(answer.metadata).toMatchObject({ 'content-type': 'application/grpc' });
    });
  });
});
