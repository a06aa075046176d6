import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frameOf, openRawStream } from '../../../../bench/support/ext-proc-frames.ts';
import { accessLogBytes, LOG_FLAG } from '../../../../test/support/grpc/access-log-bytes.ts';
import {
  requestBody,
  requestHeaders,
  responseHeaders,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import { inertRouted } from '../../../../test/support/session/inert-routed.ts';
import {
  type ReservingServer,
  startReservingServer,
} from '../../../../test/support/session/reserving-server.ts';

const LOG = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs';
const CUT = [LOG_FLAG.upstreamConnectionTermination];

describe('the access log of a gateway', () => {
  /** In the order in which requests ended. */
  let outcomes: string[];
  let server: ReservingServer;
  let session: ClientHttp2Session;
  let onDone: () => void;

  beforeEach(async () => {
    outcomes = [];
    onDone = () => undefined;
    server = await startReservingServer(undefined, {
      route: (request) =>
        inertRouted({
          request,
          destinations: ['10.0.0.1:8000'],
          done: (outcome) => {
            outcomes.push(outcome);
            onDone();
          },
        }),
    });
    session = connect(`http://127.0.0.1:${server.port}`);
  });
  afterEach(async () => {
    session.destroy();
    await server.drain({ noticeMs: 0, deadlineMs: 0 });
  });

  /** A request whose answer has begun. */
  async function answering(requestId: string): Promise<ClientHttp2Stream> {
    const stream = openRawStream(session);
    const head = { ':method': 'POST', ':path': '/v1/completions', 'x-request-id': requestId };
    stream.write(frameOf(requestHeaders(head)));
    stream.write(frameOf(requestBody('{"model":"m","prompt":"hello"}')));
    await once(stream, 'data');
    stream.write(frameOf(responseHeaders({ ':status': '200' })));
    await once(stream, 'data');
    return stream;
  }

  function openLog(): ClientHttp2Stream {
    const headers = { ':method': 'POST', ':path': LOG, 'content-type': 'application/grpc' };
    const stream = session.request({ ...headers, te: 'trailers' });
    stream.on('error', () => undefined);
    return stream;
  }

  /** With the head of its gRPC frame. */
  function framed(message: Buffer, announced = message.length): Buffer {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(announced, 1);
    return Buffer.concat([head, message]);
  }

  /** Unlike Envoy, Node would send a reset before what was written earlier. */
  function sent(log: ClientHttp2Stream, message: Buffer): Promise<void> {
    return new Promise((resolve) => void log.write(framed(message), () => resolve()));
  }

  /** Ends the streams as Envoy does, and waits until their requests have ended. */
  async function reset(...streams: readonly ClientHttp2Stream[]): Promise<void> {
    const before = outcomes.length;
    const ended = new Promise<void>((resolve) => {
      onDone = () => {
        if (outcomes.length === before + streams.length) resolve();
      };
    });
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    await ended;
  }

  it('[V473] makes a request that its server broke off a failed one, and leaves others', async () => {
    const [cut, left] = [await answering('one'), await answering('two')];
    const log = openLog();
    await sent(log, accessLogBytes([['one', CUT]]));
    await sent(log, accessLogBytes([['unknown', CUT]]));
    await reset(cut);
    await reset(left);
    expect(outcomes).toEqual(['failed', 'aborted']);
    log.end();
    const [trailers] = (await once(log.resume(), 'trailers')) as [Record<string, string>];
    expect(trailers['grpc-status']).toBe('0');
  });

  it('[V474] says nothing of requests that share their id, which clients choose', async () => {
    const both = [await answering('same'), await answering('same')];
    await sent(openLog(), accessLogBytes([['same', CUT]]));
    await reset(...both);
    expect(outcomes).toEqual(['aborted', 'aborted']);
  });

  it.each([
    ['is too large', framed(Buffer.alloc(0), 256 * 1024 + 1), '8'],
    ['is malformed', framed(Buffer.from([0x0a, 0xff])), '13'],
  ])('[V474] ends where a message %s, and requests go on', async (_, bytes, status) => {
    const request = await answering('one');
    const log = openLog();
    log.write(bytes);
    const [headers] = (await once(log.resume(), 'response')) as [Record<string, string>];
    expect(headers['grpc-status']).toBe(status);
    await reset(request);
    expect(outcomes).toEqual(['aborted']);
  });

  it('[V487] keeps 8 MiB of messages without their end: the call with the most of them ends', async () => {
    const request = await answering('one');
    const small = openLog();
    const entry = framed(accessLogBytes([['one', CUT]]));
    small.write(entry.subarray(0, -1));
    const large = Array.from({ length: 40 }, openLog);
    const statuses: (string | undefined)[] = [];
    const ended = new Promise<void>((resolve) => {
      for (const log of large) {
        log.resume().on('response', (headers) => {
          statuses.push(headers['grpc-status'] as string | undefined);
          // All together announce, and almost send, 10 MiB.
          if (statuses.length === 8) resolve();
        });
      }
    });
    for (const log of large) log.write(framed(Buffer.alloc(256 * 1024 - 1), 256 * 1024));
    await ended;
    expect(new Set(statuses)).toEqual(new Set(['8']));
    await new Promise<void>((resolve) => void small.write(entry.subarray(-1), () => resolve()));
    await reset(request);
    expect(outcomes).toEqual(['failed']);
  });
});
