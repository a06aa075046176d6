import { credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answers,
  body,
  ExtProcServerBed,
  HEADERS,
} from '../../../test/support/grpc/ext-proc-server-bed.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { createOpenBody, headerOnlyRequest } from '../../openai/parsers/open-body.ts';

const MiB = 1024 * 1024;
const bed = new ExtProcServerBed();
beforeEach(() => bed.begin());
afterEach(() => bed.end());

const PROMPT = Buffer.from('{"model":"m","prompt":"hello"}');

describe('the ext_proc server', () => {
  it.each(['plaintext', 'self-signed'] as const)('serves over %s', async (tls) => {
    const { port } = await bed.start({ tls });
    const channel =
      tls === 'plaintext'
        ? credentials.createInsecure()
        : credentials.createSsl(null, null, null, { rejectUnauthorized: false });
    const stream = bed.client(port, channel).Process();
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
    bed.stops.push(() => void (Error.stackTraceLimit = before));
    const noting = (request: InferenceRequest): RoutedRequest => {
      frames.push(...(new Error('here').stack ?? '').split('\n'));
      return bed.route(request);
    };
    const { port } = await bed.start({ session: { ...bed.session, router: { route: noting } } });
    const stream = bed.client(port).Process();
    const got = answers(stream, 2);
    stream.write(HEADERS);
    stream.write(body(PROMPT));
    await got;
    const ours = frames.filter((frame) => frame.includes('/src/extproc/'));
    // Outermost first, without the socket and the frames of HTTP/2.
    const [inServer, inSession] = ours
      .filter((frame) => !/extproc\/(?:http2|server\/port\/)/.test(frame))
      .toReversed();
    expect(inServer).toContain('/calls/run-session.ts');
    expect(inSession).toContain('Session.on ');
    stream.end();
  });

  it('[P30] keeps one connection alive through 5,000 streams that are reset', async () => {
    const server = await bed.start();
    const processor = bed.client(server.port);
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
    expect(bed.held()).toBe(0);
  });

  it('[P28] echoes 8 MB to a slow reader without losing a byte', async () => {
    const { port } = await bed.start();
    const stream = bed.client(port).Process();
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
    const { port } = await bed.start({
      session: {
        router: { route: bed.route },
        openBody: createOpenBody({ bodyBytesMax: 1000, hashSeed: 1 }),
        headerOnly: headerOnlyRequest,
        earlyPickBytes: 1000,
        halfCloseAfterPick: false,
        onFault: () => undefined,
        onRefused: () => undefined,
      },
    });
    const processor = bed.client(port);
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

  it('[P26] ends the stream of a peer that sends garbage, and no other', async () => {
    const server = await bed.start();
    const processor = bed.client(server.port);
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
    const server = await bed.start();
    const stream = bed.client(server.port).Process();
    const content = Buffer.from(`{"model":"m","prompt":"${'x'.repeat(8 * MiB)}"}`);
    stream.pause();
    stream.write(HEADERS);
    for (let at = 0; at < content.length; at += 60_000) {
      stream.write(body(content.subarray(at, at + 60_000), at + 60_000 >= content.length));
    }
    while (bed.held() === 0) await new Promise((resolve) => setImmediate(resolve));
    stream.on('error', () => undefined);
    stream.cancel();
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(bed.held()).toBe(0);
  });

  it('[V248] refuses a message that becomes far larger than its bytes', async () => {
    const { port } = await bed.start();
    const processor = bed.client(port, credentials.createInsecure(), {
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
    const { port } = await bed.start();
    const processor = bed.client(port, credentials.createInsecure(), {
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
