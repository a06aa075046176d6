import { get } from 'node:https';
import {
  Client,
  credentials,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { startStubPool } from '../../stub-server/pool.ts';
import { speakHttp2 } from '../support/http2-servers.ts';
import { stubPoolForTests } from './stub-pool.ts';

const definitions = loadSync('proto/vllm/grpc/engine/vllm_engine.proto', { keepCase: true });
const SERVICE = definitions['vllm.grpc.engine.VllmEngine'] as ServiceDefinition;
const stub = stubPoolForTests({ timings: undefined });
const ids = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

interface Chunk {
  readonly chunk?: { readonly token_ids: number[]; readonly completion_tokens: number };
  readonly complete?: {
    readonly output_ids: number[];
    readonly finish_reason: string;
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly cached_tokens: number;
  };
}

type Answer = { readonly messages: readonly Chunk[]; readonly error: ServiceError | undefined };

function call(
  client: Client,
  name: string,
  message: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const method = SERVICE[name];
  if (method === undefined) throw new Error(`no method ${name}`);
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(headers)) metadata.set(key, value);
  const stream = client.makeServerStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    message,
    metadata,
  );
  const messages: Chunk[] = [];
  return new Promise((resolve) => {
    stream.on('data', (each: Chunk) => void messages.push(each));
    stream.on('error', (error: ServiceError) => resolve({ messages, error }));
    stream.on('end', () => resolve({ messages, error: undefined }));
  });
}

function clientOf(url: string): Client {
  return new Client(new URL(url).host, credentials.createInsecure());
}

describe('vLLM’s gRPC service', () => {
  let client: Client;
  beforeAll(() => {
    client = clientOf(stub.url(''));
  });
  afterAll(() => client.close());

  test('[B24] streams tokens as they come, then all of them with their counts', async () => {
    const request = {
      tokenized: { input_ids: ids(100) },
      sampling_params: { max_tokens: 5, ignore_eos: true },
      stream: true,
    };
    const { messages, error } = await call(client, 'Generate', request);
    expect(error).toBeUndefined();
    const chunks = messages.flatMap(({ chunk }) => chunk ?? []);
    const { complete } = messages.at(-1) ?? {};
    expect(chunks.flatMap((each) => each.token_ids)).toEqual(complete?.output_ids);
    expect(complete).toMatchObject({
      finish_reason: 'length',
      prompt_tokens: 100,
      completion_tokens: 5,
    });
    const again = await call(client, 'Generate', { ...request, stream: false });
    expect(again.messages).toHaveLength(1);
    // Six whole blocks of 16 tokens.
    expect(again.messages[0]?.complete?.cached_tokens).toBe(96);
  });

  test('[B24] is on the port of HTTP, and finds what HTTP has left in the cache', async () => {
    const prompt = 'A text that several blocks of the cache hold. '.repeat(10);
    const body = JSON.stringify({ model: 'm', prompt, max_tokens: 1 });
    const headers = { 'content-type': 'application/json' };
    const http = await fetch(stub.url('/v1/completions'), { method: 'POST', headers, body });
    expect(http.status).toBe(200);
    const { messages } = await call(client, 'Generate', {
      text: prompt,
      sampling_params: { max_tokens: 1 },
    });
    expect(messages[0]?.complete?.cached_tokens).toBeGreaterThan(100);
  });

  test('[B24] embeds, and says health, model and load', async () => {
    const first = async (name: string, message: object): Promise<unknown> =>
      (await call(client, name, message)).messages[0];
    expect(await first('Embed', { tokenized: { input_ids: ids(3) } })).toMatchObject({
      prompt_tokens: 3,
      embedding_dim: 384,
    });
    expect(await first('HealthCheck', {})).toMatchObject({ healthy: true });
    expect(await first('GetModelInfo', {})).toMatchObject({ model_path: 'm', is_generation: true });
    expect(await first('GetServerInfo', {})).toMatchObject({
      server_type: 'vllm-grpc',
      is_paused: false,
    });
  });

  test.each([
    ['no input', {}, {}, 3],
    ['several answers', { text: 'x', sampling_params: { n: 2 } }, {}, 3],
    ['an error by header', { text: 'x' }, { 'x-return-error': '429' }, 8],
  ])('[B24] refuses %s with a status', async (_, message, headers, code) => {
    const { error } = await call(client, 'Generate', message, headers);
    expect(error?.code).toBe(code);
  });

  test('[B24] stops a request that is aborted', async () => {
    const request = {
      request_id: 'mine',
      text: 'x',
      sampling_params: { max_tokens: 100_000, ignore_eos: true },
    };
    const answer = call(client, 'Generate', request);
    const running = async (): Promise<number> => stub.pool().endpoints[0]?.engine.runningCount ?? 0;
    await eventually(running, (count) => count === 1);
    await call(client, 'Abort', { request_ids: ['mine'] });
    expect((await answer).messages.at(-1)?.complete?.finish_reason).toBe('abort');
    await eventually(running, (count) => count === 0);
  });
});

test('[B36] [D542] with TLS it is on the port of HTTPS, for clients that offer HTTP/2 alone', async () => {
  const options = { port: 0, speed: 10, model: 'm', tls: 'self-signed' };
  const pool = await startStubPool(stubOptions.parse(options));
  const address = pool.endpoints[0]?.address ?? '';
  const trusting = credentials.createSsl(null, null, null, { rejectUnauthorized: false });
  const client = new Client(address, trusting);
  try {
    const { messages, error } = await call(client, 'Generate', {
      text: 'x',
      sampling_params: { max_tokens: 5, ignore_eos: true },
    });
    expect(error).toBeUndefined();
    expect(messages[0]?.complete?.completion_tokens).toBe(5);
    expect(await statusOverTls(address)).toBe(200);
    // curl and others offer both, and speak the one that the server takes.
    expect(await statusOverTls(address, ['h2', 'http/1.1'])).toBe(200);
  } finally {
    client.close();
    await pool.stop();
  }
});

function statusOverTls(
  address: string,
  ALPNProtocols: string[] = ['http/1.1'],
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const url = `https://${address}/v1/models`;
    const options = { rejectUnauthorized: false, agent: false, ALPNProtocols };
    const asked = get(url, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject);
  });
}

const binary = await envoyBinary();

describe.skipIf(binary === undefined)('behind a real Envoy and a picker', () => {
  let stack: Stack;
  let client: Client;
  beforeAll(async () => {
    const text = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}, {type: vllmgrpc-parser}]
requestHandler: {parsers: [{pluginRef: vllmgrpc-parser}]}
`;
    const plan = loadConfig({ text, source: 'test', catalogue: SERVING_CATALOGUE });
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: [new URL(stub.url('')).host],
      serve: { plan },
      edit: speakHttp2,
    });
    client = clientOf(stack.url);
  });
  afterAll(async () => {
    client?.close();
    await stack?.stop();
  });

  test('[B24] answers are those of the server itself, and the picker learns their usage', async () => {
    const request = {
      tokenized: { input_ids: ids(64) },
      sampling_params: { max_tokens: 7, ignore_eos: true, seed: 3 },
      stream: true,
    };
    const direct = clientOf(stub.url(''));
    const [behind, own] = [
      await call(client, 'Generate', request),
      await call(direct, 'Generate', request),
    ];
    direct.close();
    expect(behind.error).toBeUndefined();
    expect(behind.messages.at(-1)?.complete?.output_ids).toEqual(
      own.messages.at(-1)?.complete?.output_ids,
    );
    const page = await (
      await fetch(`http://127.0.0.1:${stack.serving.metricsPort}/metrics`)
    ).text();
    expect(page).toMatch(/request_output_tokens_sum\{[^}]*\} 7\b/);
    expect(page).toMatch(/request_input_tokens_sum\{[^}]*\} 64\b/);
  });
});
