import {
  connect,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, type Stack, startStack } from '../../bench/support/stack.ts';
import { SERVING_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../src/config/load.ts';
import { stubPoolForTests } from '../stub/stub-pool.ts';
import { framedRequest, methodOf, VLLM_ENGINE } from '../support/grpc/grpc-services.ts';
import { speakHttp2 } from '../support/http2-servers.ts';

const binary = await envoyBinary();
const stub = stubPoolForTests();
const CONFIG = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}, {type: vllmgrpc-parser}]
requestHandler: {parsers: [{pluginRef: vllmgrpc-parser}]}
`;

/** One exchange as bytes, with gRPC's status from the trailers or the headers. */
interface Exchange {
  readonly asked: Buffer;
  readonly answered: Buffer;
  readonly status: string;
}

/** Sends the bytes of a gRPC call by HTTP/2, and keeps what comes back. */
async function exchange(
  url: string,
  path: string,
  asked: Buffer,
  pieceBytes: number = asked.length,
): Promise<Exchange> {
  const session = connect(url);
  try {
    return await new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/grpc', te: 'trailers' };
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      const chunks: Buffer[] = [];
      let status = '';
      const readStatus = (from: IncomingHttpHeaders): void => {
        status = String(from['grpc-status'] ?? status);
      };
      session.on('error', reject);
      stream.on('error', reject);
      stream.on('response', readStatus);
      stream.on('trailers', readStatus);
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => resolve({ asked, answered: Buffer.concat(chunks), status }));
      for (let at = 0; at < asked.length; at += pieceBytes) {
        stream.write(asked.subarray(at, at + pieceBytes));
      }
      stream.end();
    });
  } finally {
    session.close();
  }
}

/** Passes calls on to the model server, and keeps the last one. */
class Recorder {
  last: Exchange | undefined;
  readonly #server: Http2Server;
  readonly #url: () => string;

  constructor(url: () => string) {
    this.#url = url;
    this.#server = createServer();
    this.#server.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        void this.#pass(stream, String(headers[':path']), Buffer.concat(chunks));
      });
    });
  }

  async #pass(stream: ServerHttp2Stream, path: string, asked: Buffer): Promise<void> {
    const passed = await exchange(this.#url(), path, asked);
    this.last = passed;
    stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': passed.status }));
    stream.end(passed.answered);
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
  }
}

describe.skipIf(binary === undefined)('gRPC through a real Envoy and a picker', () => {
  const recorder = new Recorder(() => stub.url(''));
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: [await recorder.start()],
      serve: { plan: loadConfig({ text: CONFIG, source: 'test', catalogue: SERVING_CATALOGUE }) },
      edit: speakHttp2,
    });
  });
  afterAll(async () => {
    await stack?.stop();
    recorder.stop();
  });

  const answer = { max_tokens: 12, ignore_eos: true, seed: 5 };
  it.each([
    ['a whole answer', 'Generate', { text: 'What is there?', sampling_params: answer }, '0'],
    [
      'a stream',
      'Generate',
      { tokenized: { input_ids: [1, 2, 3] }, sampling_params: answer, stream: true },
      '0',
    ],
    ['a vector', 'Embed', { tokenized: { input_ids: [1, 2, 3] } }, '0'],
    ['an error', 'Generate', { text: 'x', sampling_params: { n: 2 } }, '3'],
  ])(
    '[B37] gives client and model server the bytes of each other: %s',
    async (_, name, message, status) => {
      const { path } = methodOf(VLLM_ENGINE, name);
      const seen = await exchange(stack.url, path, framedRequest(VLLM_ENGINE, name, message));
      expect(seen.status).toBe(status);
      expect(recorder.last).toEqual(seen);
      expect(seen.answered.length > 0).toBe(status === '0');
    },
  );

  const generate = methodOf(VLLM_ENGINE, 'Generate').path;
  const framed = (message: object): Buffer => framedRequest(VLLM_ENGINE, 'Generate', message);

  it('[D465] cut into frames of a byte, and with unknown fields, they are the same bytes', async () => {
    const known = framed({ text: 'What is there?', sampling_params: answer }).subarray(5);
    // Field 900 with four bytes, 901 as a fixed64, and 902 as a fixed32.
    const unknown = Buffer.from(
      'a2380401020304a93801020304050607 08b53801020304'.replace(' ', ''),
      'hex',
    );
    const head = Buffer.alloc(5);
    head.writeUInt32BE(known.length + unknown.length, 1);
    const seen = await exchange(stack.url, generate, Buffer.concat([head, known, unknown]), 1);
    expect(seen.status).toBe('0');
    expect(recorder.last).toEqual(seen);
  });

  it.each([
    ['no message', Buffer.alloc(0)],
    ['a compressed message', Buffer.from([1, 0, 0, 0, 1, 0])],
    ['two messages', Buffer.concat([framed({ text: 'a' }), framed({ text: 'b' })])],
    ['a message that ends early', framed({ text: 'a' }).subarray(0, -1)],
    ['a message without an input', framed({ stream: true })],
  ])('[D465] refuses %s with INVALID_ARGUMENT, and asks no engine', async (_, asked) => {
    recorder.last = undefined;
    const { status, answered } = await exchange(stack.url, generate, asked);
    expect([status, answered.length, recorder.last]).toEqual(['3', 0, undefined]);
  });
});
