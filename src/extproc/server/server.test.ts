import { join } from 'node:path';
import {
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { service as healthService } from 'grpc-health-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reservingRouter } from '../../../test/support/session/reserving-server.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../openai/parsers/open-body.ts';
import { nodeClock } from '../../runtime/clock/node-clock.ts';
import { limitsFor } from './port/server-limits.ts';
import { type ExtProcServer, type ExtProcServerOptions, startExtProcServer } from './server.ts';

const MiB = 1024 * 1024;
const loaded = loadPackageDefinition(
  loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
    includeDirs: [join(import.meta.dirname, '..', '..', '..', 'proto')],
    keepCase: true,
  }),
) as unknown as {
  readonly envoy: {
    readonly service: {
      readonly ext_proc: { readonly v3: { readonly ExternalProcessor: ServiceClientConstructor } };
    };
  };
};
const { ExternalProcessor } = loaded.envoy.service.ext_proc.v3;

type Stream = ClientDuplexStream<object, Record<string, never>>;
interface ProcessorClient extends Client {
  Process(): Stream;
}

/** One for each test: what a test leaves open may be given back only during the next one. */
let reserving = reservingRouter();
beforeEach(() => {
  reserving = reservingRouter();
});
const held = (): number => reserving.held();
const route: typeof reserving.route = (request) => reserving.route(request);

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const SESSION = {
  router: { route },
  openBody: createOpenBody({ bodyBytesMax: 16 * MiB, hashSeed: 1 }),
  headerOnly: headerOnlyRequest,
  earlyPickBytes: 1000,
  halfCloseAfterPick: false,
  onFault: (error: unknown) => {
    throw error;
  },
  onRejected: () => undefined,
};

async function start(overrides: Partial<ExtProcServerOptions> = {}): Promise<ExtProcServer> {
  const server = await startExtProcServer({
    host: '127.0.0.1',
    port: 0,
    tls: 'plaintext',
    messageBytesMax: 16 * MiB,
    session: SESSION,
    limits: limitsFor(2 ** 30),
    clock: nodeClock(),
    ...overrides,
  });
  stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
  server.setServing(true);
  return server;
}

function client(
  port: number,
  channel = credentials.createInsecure(),
  options: ClientOptions = {},
): ProcessorClient {
  const made = new ExternalProcessor(`127.0.0.1:${port}`, channel, {
    ...options,
    'grpc.max_receive_message_length': -1,
  }) as unknown as ProcessorClient;
  stops.push(() => made.close());
  return made;
}

const HEADERS = {
  request_headers: {
    headers: {
      headers: [
        { key: ':method', raw_value: Buffer.from('POST') },
        { key: ':path', raw_value: Buffer.from('/v1/completions') },
      ],
    },
  },
};

function body(content: Buffer, end_of_stream = true): object {
  return { request_body: { body: content, end_of_stream } };
}

/** Collects answers until there are `enough` or the stream ends. */
function answers(
  stream: Stream,
  enough = Number.POSITIVE_INFINITY,
): Promise<readonly Record<string, never>[]> {
  return new Promise((resolve, reject) => {
    const all: Record<string, never>[] = [];
    stream.on('data', (answer: Record<string, never>) => {
      all.push(answer);
      if (all.length >= enough) resolve(all);
    });
    stream.on('end', () => resolve(all));
    stream.on('error', reject);
  });
}

function health(port: number, name: string): Promise<string> {
  const checker = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { Check } = healthService;
  if (Check === undefined) throw new Error('the health service has no Check');
  return new Promise((resolve, reject) => {
    checker.makeUnaryRequest(
      Check.path,
      Check.requestSerialize,
      Check.responseDeserialize,
      { service: name },
      (error, answer) => {
        checker.close();
        if (error) reject(error);
        else resolve(String((answer as { status: string }).status));
      },
    );
  });
}

const PROMPT = Buffer.from('{"model":"m","prompt":"hello"}');

describe('the ext_proc server', () => {
  it.each(['plaintext', 'self-signed'] as const)('serves over %s', async (tls) => {
    const { port } = await start({ tls });
    const channel =
      tls === 'plaintext'
        ? credentials.createInsecure()
        : credentials.createSsl(null, null, null, { rejectUnauthorized: false });
    const stream = client(port, channel).Process();
    const got = answers(stream, 2);
    stream.write(HEADERS);
    stream.write(body(PROMPT));
    expect((await got).map((answer) => Object.keys(answer)[0])).toEqual([
      'request_headers',
      'request_body',
    ]);
    stream.end();
  });

  it('passes a message to its session in one frame', async () => {
    const [before, frames] = [Error.stackTraceLimit, [] as string[]];
    Error.stackTraceLimit = 100;
    stops.push(() => void (Error.stackTraceLimit = before));
    const noting = (request: InferenceRequest): RoutedRequest => {
      frames.push(...(new Error('here').stack ?? '').split('\n'));
      return route(request);
    };
    const { port } = await start({ session: { ...SESSION, router: { route: noting } } });
    const stream = client(port).Process();
    const got = answers(stream, 2);
    stream.write(HEADERS);
    stream.write(body(PROMPT));
    await got;
    const ours = frames.filter((frame) => frame.includes('/src/extproc/'));
    // Outermost first, without the socket and the frames of HTTP/2.
    const [inServer, inSession] = ours
      .filter((frame) => !/extproc\/(?:http2|server\/port\/listener)/.test(frame))
      .toReversed();
    expect(inServer).toContain('/calls/run-session.ts');
    expect(inSession).toContain('Session.on ');
    stream.end();
  });

  it('[P30] keeps one connection alive through 5,000 streams that are reset', async () => {
    const server = await start();
    const processor = client(server.port);
    for (let round = 0; round < 100; round++) {
      const streams = Array.from({ length: 50 }, () => {
        const stream = processor.Process();
        const got = answers(stream, 2).catch(() => []);
        stream.write(HEADERS);
        stream.write(body(PROMPT));
        return { stream, got };
      });
      for (const { stream, got } of streams) {
        expect(await got).toHaveLength(2);
        stream.cancel();
      }
    }
    while (server.sessions() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(held()).toBe(0);
  });

  it('[P28] echoes 8 MB to a slow reader without losing a byte', async () => {
    const { port } = await start();
    const stream = client(port).Process();
    const content = Buffer.from(`{"model":"m","prompt":"${'0123456789abcdef'.repeat(MiB / 2)}"}`);
    stream.write(HEADERS);
    for (let at = 0; at < content.length; at += 50_000) {
      stream.write(body(content.subarray(at, at + 50_000), at + 50_000 >= content.length));
    }
    let received = 0;
    let last = false;
    for await (const answer of stream as AsyncIterable<Record<string, never>>) {
      const echoed = (
        answer['request_body'] as
          | {
              response?: {
                body_mutation?: { streamed_response?: { body?: Buffer; end_of_stream?: boolean } };
              };
            }
          | undefined
      )?.response?.body_mutation?.streamed_response;
      received += echoed?.body?.length ?? 0;
      if (received % 31 === 0) await new Promise((resolve) => setImmediate(resolve));
      last = echoed?.end_of_stream === true;
      if (last) stream.end();
    }
    expect({ received, last }).toEqual({ received: content.length, last: true });
  });

  it('[P27] answers a body over the bound with 413 and goes on serving', async () => {
    const { port } = await start({
      session: {
        router: { route },
        openBody: createOpenBody({ bodyBytesMax: 1000, hashSeed: 1 }),
        headerOnly: headerOnlyRequest,
        earlyPickBytes: 1000,
        halfCloseAfterPick: false,
        onFault: () => undefined,
        onRejected: () => undefined,
      },
    });
    const processor = client(port);
    const stream = processor.Process();
    const got = answers(stream, 1);
    stream.write(HEADERS);
    stream.write(body(Buffer.alloc(2000, 0x20), false));
    expect((await got)[0]?.['immediate_response']).toMatchObject({ status: { code: 413 } });
    stream.end();
    const next = processor.Process();
    const fine = answers(next, 2);
    next.write(HEADERS);
    next.write(body(PROMPT));
    expect(await fine).toHaveLength(2);
    next.end();
  });

  it('[P29] tells its health by every name that is asked for, on both ports', async () => {
    const server = await start({ healthPort: 0 });
    for (const port of [server.port, server.healthPort ?? 0]) {
      for (const name of [
        '',
        'envoy.service.ext_proc.v3.ExternalProcessor',
        'inference-extension',
        'liveness',
        'readiness',
        'a-name-of-a-probe',
      ]) {
        expect(await health(port, name)).toBe('SERVING');
      }
    }
    server.setServing(false);
    expect(await health(server.port, '')).toBe('NOT_SERVING');
    expect(await health(server.port, 'a-name-of-a-probe')).toBe('NOT_SERVING');
    expect(await health(server.port, 'liveness')).toBe('SERVING');
  });

  it('[P29] drains: not serving at once, streams in flight finish', async () => {
    const server = await start({ healthPort: 0 });
    const stream = client(server.port).Process();
    stream.write(HEADERS);
    const got = answers(stream, 2);
    while (server.sessions() === 0) await new Promise((resolve) => setImmediate(resolve));
    const drained = server.drain({ noticeMs: 0, deadlineMs: 10_000 });
    expect(await health(server.healthPort ?? 0, '')).toBe('NOT_SERVING');
    stream.write(body(PROMPT));
    expect(await got).toHaveLength(2);
    stream.end();
    await drained;
    expect(held()).toBe(0);
  });

  it('[P29] drains without waiting for those who only watch its health', async () => {
    const server = await start();
    const watcher = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
    const { Watch } = healthService;
    if (Watch === undefined) throw new Error('the health service has no Watch');
    const statuses: string[] = [];
    const watch = watcher.makeServerStreamRequest(
      Watch.path,
      Watch.requestSerialize,
      Watch.responseDeserialize,
      { service: '' },
    );
    const cut = new Promise((resolve) => watch.once('error', resolve));
    const first = new Promise((resolve) => watch.once('data', resolve));
    watch.on('data', (answer: { readonly status: string }) => statuses.push(answer.status));
    await first;
    await server.drain({ noticeMs: 0, deadlineMs: 20_000 });
    await cut;
    watcher.close();
    expect(statuses).toEqual(['SERVING', 'NOT_SERVING']);
  });

  it('[P29] cuts what is still open when the deadline of a drain has passed', async () => {
    const server = await start();
    const stream = client(server.port).Process();
    const cut = new Promise((resolve) => stream.once('error', resolve));
    stream.write(HEADERS);
    stream.write(body(PROMPT));
    await answers(stream, 2);
    expect(held()).toBe(1);
    await server.drain({ noticeMs: 0, deadlineMs: 0 });
    await cut;
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(held()).toBe(0);
  });

  it('[P26] ends the stream of a peer that sends garbage, and no other', async () => {
    const server = await start();
    const processor = client(server.port);
    const other = processor.Process();
    const fine = answers(other, 2);
    other.write(HEADERS);
    const garbage = processor.makeBidiStreamRequest(
      '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
    );
    const failed = new Promise<{ readonly code?: number }>((resolve) => {
      garbage.once('error', resolve);
    });
    garbage.write(Buffer.from([0x12, 0x7f, 0x01]));
    expect((await failed).code).toBe(13);
    other.write(body(PROMPT));
    expect(await fine).toHaveLength(2);
    other.end();
  });

  it('[P28] keeps most of what a peer does not read to itself, and cancels cleanly with it', async () => {
    const server = await start();
    const stream = client(server.port).Process();
    const content = Buffer.from(`{"model":"m","prompt":"${'x'.repeat(8 * MiB)}"}`);
    stream.pause();
    stream.write(HEADERS);
    for (let at = 0; at < content.length; at += 60_000) {
      stream.write(body(content.subarray(at, at + 60_000), at + 60_000 >= content.length));
    }
    while (held() === 0) await new Promise((resolve) => setImmediate(resolve));
    stream.on('error', () => undefined);
    stream.cancel();
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(held()).toBe(0);
  });

  it('[V248] refuses a message that becomes far larger than its bytes', async () => {
    const { port } = await start();
    const processor = client(port, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': 2,
    });
    const stream = processor.Process();
    const failed = new Promise<ServiceError>((resolve) => void stream.on('error', resolve));
    stream.on('data', () => undefined);
    stream.write(HEADERS);
    stream.write(body(Buffer.alloc(10_000_000, 'x')));
    const { code, details } = await failed;
    expect(code).toBe(status.RESOURCE_EXHAUSTED);
    expect(details).toMatch(/\d+ compressed bytes that becomes more than \d+ bytes/);
  });

  it('takes compressed messages', async () => {
    const { port } = await start();
    const processor = client(port, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': 2,
    });
    const stream = processor.Process();
    const got = answers(stream, 2);
    stream.write(HEADERS);
    stream.write(body(Buffer.from(`{"model":"m","prompt":"${'x'.repeat(10_000)}"}`)));
    expect(await got).toHaveLength(2);
    stream.end();
  });
});
