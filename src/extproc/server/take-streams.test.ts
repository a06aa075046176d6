import { EventEmitter } from 'node:events';
import { connect } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { openRawStream } from '../../../bench/support/ext-proc-frames.ts';
import { exchange, requestBody, requestHeaders } from '../../../test/support/ext-proc-client.ts';
import { startReservingServer } from '../../../test/support/reserving-server.ts';
import { takeStreams } from './take-streams.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

describe('a stream that is reset in the read that opens it', () => {
  it('[V17][G6] costs no call, and other methods are left to grpc-js', () => {
    const http2 = new EventEmitter();
    const handled: object[] = [];
    http2.on('stream', (stream: object) => void handled.push(stream));
    const taken: object[] = [];
    const onCall = (stream: object): void => void taken.push(stream);
    const grpc = { http2Servers: new Map([[http2, {}]]) } as unknown as Server;
    takeStreams(grpc, { path: '/a/B', onCall });
    const stream = (closed: boolean): EventEmitter =>
      Object.assign(new EventEmitter(), { closed, destroyed: closed });
    const [open, reset, other] = [stream(false), stream(true), stream(false)];
    const headers = { ':path': '/a/B', 'content-type': 'application/grpc' };
    http2.emit('stream', open, headers);
    http2.emit('stream', reset, headers);
    http2.emit('stream', other, { ...headers, ':path': '/grpc.health.v1.Health/Check' });
    expect([taken, handled]).toEqual([[open], [other]]);
    // What Node reports of it is no error of ours.
    expect(() => reset.emit('error', new Error('reset'))).not.toThrow();
  });

  it('[V17] leaves nothing open, however many come, and others are served', async () => {
    const server = await startReservingServer();
    stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
    const session = connect(`http://127.0.0.1:${server.port}`);
    session.on('error', () => undefined);
    stops.push(() => session.destroy());
    for (let round = 0; round < 20; round++) {
      for (let each = 0; each < 250; each++) openRawStream(session).close(each % 2 === 0 ? 8 : 2);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const answers = await exchange(server.port, [
      requestHeaders({ ':method': 'POST', ':path': '/v1/completions' }),
      requestBody('{"model":"m","prompt":"hello"}'),
    ]);
    expect(answers.map(({ response }) => response)).toEqual(['request_headers', 'request_body']);
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});
