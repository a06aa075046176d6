import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, waitForPickers } from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER, renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { byteSource } from '../support/byte-source.ts';
import { sha256 } from '../support/grpc/grpc-upstream.ts';
import { PROGRAM } from '../support/programs/program.ts';

const drawBytes = byteSource(23);

/**
 * The program as the reference's chart starts it, behind an Envoy configured as in that chart: TLS of a
 * self-signed certificate, full duplex, 32 KB of buffers.
 */

const binary = await envoyBinary();
const CHUNKS = 10_000;
const ANSWER_BYTES = 8_000_000;
const EXT_PROC = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];

interface Message {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly bytes: number;
  readonly trailers: readonly string[];
}

async function read(incoming: IncomingMessage): Promise<Message> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const { method = '', url = '', headers, rawTrailers } = incoming;
  const [hash, bytes] = [sha256(body), body.length];
  return { method, path: url, headers, body: hash, bytes, trailers: rawTrailers };
}

const stream = Array.from(
  { length: CHUNKS },
  (_, at) => `data: {"choices":[{"index":0,"text":"token ${at}"}]}\n\n`,
);
/** By the request's header `x-answer`: what the engine answers. */
const ANSWERS: Readonly<Record<string, { type: string; encoding?: string; body: Buffer }>> = {
  small: { type: 'application/json', body: Buffer.from('{"ok":true}') },
  large: { type: 'application/octet-stream', body: drawBytes(ANSWER_BYTES) },
  zipped: { type: 'application/json', encoding: 'gzip', body: gzipSync('{"usage":{}}') },
  stream: {
    type: 'text/event-stream',
    body: Buffer.from(`${stream.join('')}data: [DONE]\n\n`),
  },
};

/** Keeps what it received last. */
class Engine {
  last: Message | undefined;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, response) => {
      if (incoming.url === '/metrics') return void response.end('vllm:num_requests_waiting 0\n');
      void read(incoming).then((message) => {
        this.last = message;
        const { type, encoding, body } = answerTo(message.headers);
        response.setHeader('content-type', type);
        if (encoding !== undefined) response.setHeader('content-encoding', encoding);
        response.setHeader('trailer', 'x-engine');
        for (let at = 0; at < body.length; at += 1000) response.write(body.subarray(at, at + 1000));
        response.addTrailers({ 'x-engine': 'done' });
        response.end();
      });
    });
  }

  async start(): Promise<number> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function answerTo(headers: IncomingMessage['headers']): (typeof ANSWERS)[string] {
  const answer = ANSWERS[String(headers['x-answer'] ?? 'small')];
  if (answer === undefined) throw new Error('no such answer');
  return answer;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent in chunks, with a trailer. */
  readonly chunked?: boolean;
}

function ask(url: string, body: Buffer, { method = 'POST', ...given }: Asked): Promise<Message> {
  const { chunked = false, headers = {} } = given;
  const framing = chunked ? { trailer: 'x-client' } : { 'content-length': body.length };
  const type = { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { ...type, ...framing, ...headers } });
    asked.on('error', reject);
    asked.on('response', (incoming) => void read(incoming).then(resolve, reject));
    const send = (): void => {
      if (chunked) asked.addTrailers({ 'x-client': 'sent' });
      asked.end(body);
    };
    if (headers['expect'] === undefined) send();
    else asked.on('continue', send);
  });
}

const text = (bytes: number): string => drawBytes(bytes / 2).toString('hex');
const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
const prompt = (bytes: number): Buffer => json({ model: 'm', prompt: text(bytes) });
const multipart = (bytes: number): Buffer =>
  Buffer.concat([
    Buffer.from('--B\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'),
    drawBytes(bytes),
    Buffer.from('\r\n--B--\r\n'),
  ]);
const FORM = { 'content-type': 'multipart/form-data; boundary=B' };

const CASES: readonly (readonly [what: string, path: string, body: Buffer, asked: Asked])[] = [
  ['a prompt of 1 KB', '/v1/completions', prompt(1000), {}],
  ['a prompt of 8 MB', '/v1/completions', prompt(8_000_000), {}],
  ['a prompt in chunks, with a trailer', '/v1/completions', prompt(400_000), { chunked: true }],
  [
    'a prompt after 100 Continue',
    '/v1/completions',
    prompt(50_000),
    { headers: { expect: '100-continue' } },
  ],
  ['a sound', '/v1/audio/transcriptions', multipart(400_000), { headers: FORM }],
  [
    'a zipped body of an unread path',
    '/tokenize',
    gzipSync('{"prompt":"q"}'),
    { headers: { 'content-encoding': 'gzip' } },
  ],
  ['10,000 chunks', '/v1/completions', prompt(1000), { headers: { 'x-answer': 'stream' } }],
  ['an answer of 8 MB', '/v1/completions', prompt(1000), { headers: { 'x-answer': 'large' } }],
  ['a zipped answer', '/v1/completions', prompt(1000), { headers: { 'x-answer': 'zipped' } }],
  ['a list of models', '/v1/models', Buffer.alloc(0), { method: 'GET' }],
  ['a deletion', '/v1/responses/1', Buffer.alloc(0), { method: 'DELETE' }],
  ['a question for methods', '/v1/completions', Buffer.alloc(0), { method: 'OPTIONS' }],
];

describe.skipIf(binary === undefined)('with the reference’s arguments and Envoy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-swap-'));
  const engine = new Engine();
  let url: string;
  const stops: (() => unknown)[] = [];

  beforeAll(async () => {
    const enginePort = await engine.start();
    const pickerPort = await startProgram(folder, enginePort, stops);
    const configYaml = renderEnvoyConfig({
      wiring: 'envoy',
      listenerPort: 0,
      extProcAddress: `127.0.0.1:${pickerPort}`,
      extProcTls: true,
      bufferLimitBytes: 32_768,
      edit: (config) => {
        waitForPickers(config);
        // Envoy removes the length of a body in full duplex unless it is told to leave it.
        config.setIn([...EXT_PROC, 'allow_content_length_header'], true);
      },
    });
    const envoy = await startEnvoy({ binary: binary ?? '', configYaml, log: () => undefined });
    stops.push(() => envoy.stop());
    url = `http://127.0.0.1:${envoy.listenerPort}`;
  });
  afterAll(async () => {
    engine.stop();
    for (const stop of stops.reverse()) await stop();
    rmSync(folder, { recursive: true });
  });

  it.each(CASES)(
    '[D353] engine and client have the bytes and trailers of each other: %s',
    async (_what, path, body, asked) => {
      const { method = 'POST', headers = {}, chunked = false } = asked;
      const answer = await ask(`${url}${path}?a=b`, body, asked);
      const sent = ['x-client', 'sent'];
      expect(engine.last).toMatchObject({ method, path: `${path}?a=b`, body: sha256(body) });
      expect(engine.last?.trailers).toEqual(chunked ? sent : []);
      const { type, body: answered } = answerTo(headers);
      expect(answer.headers['content-type']).toBe(type);
      expect([answer.bytes, answer.body]).toEqual([answered.length, sha256(answered)]);
      expect(answer.trailers).toEqual(['x-engine', 'done']);
    },
  );

  it('[D354] an engine that cannot read chunks gets the length of a renamed body, too', async () => {
    const body = prompt(100_000);
    const headers = { 'x-llm-d-model-name-rewrite': 'another' };
    await ask(`${url}/v1/completions`, body, { headers });
    const { bytes = 0, headers: received } = engine.last ?? {};
    expect(bytes).toBe(body.length + 'another'.length - 'm'.length);
    expect(received?.['content-length']).toBe(String(bytes));
  });
});

/** Resolves to the port of ext_proc. */
async function startProgram(
  folder: string,
  enginePort: number,
  stops: (() => unknown)[],
): Promise<number> {
  const endpoints = join(folder, 'endpoints.yaml');
  const endpoint = `{ name: vllm-0, address: 127.0.0.1, port: "${enginePort}" }`;
  writeFileSync(endpoints, `endpoints: [${endpoint}]\n`);
  const config = join(folder, 'default-plugins.yaml');
  writeFileSync(
    config,
    `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- { type: queue-scorer }
- { type: kv-cache-utilization-scorer }
- { type: prefix-cache-scorer }
- { type: file-discovery, parameters: { path: ${endpoints} } }
dataLayer: { discovery: { pluginRef: file-discovery } }
schedulingProfiles:
- name: default
  plugins:
  - { pluginRef: queue-scorer, weight: 2 }
  - { pluginRef: kv-cache-utilization-scorer, weight: 2 }
  - { pluginRef: prefix-cache-scorer, weight: 3 }
`,
  );
  const chart = ['--pool-name', 'release', '--zap-encoder', 'json', '--config-file', config];
  // The header by which one test renames a model is a client's.
  const more = ['--trust-client-controls', '--tracing=false', '--metrics-endpoint-auth=false'];
  const ports = ['--grpc-port=0', '--grpc-health-port=0', '--metrics-port=0'];
  const child = spawn(process.execPath, [PROGRAM, ...chart, ...more, ...ports], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  stops.push(() => child.kill('SIGKILL'));
  for await (const line of createInterface({ input: child.stderr })) {
    if (!line.includes('"msg":"serving"')) continue;
    child.stderr.resume();
    return (JSON.parse(line) as { readonly extProcPort: number }).extProcPort;
  }
  throw new Error('it ended instead of serving');
}
