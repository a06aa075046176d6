import { connect, constants } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { openRawStream } from '../../../../bench/support/ext-proc-frames.ts';
import {
  exchange,
  requestBody,
  requestHeaders,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import { startReservingServer } from '../../../../test/support/session/reserving-server.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function setUp() {
  const server = await startReservingServer();
  stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
  const session = connect(`http://127.0.0.1:${server.port}`);
  session.on('error', () => undefined);
  stops.push(() => session.destroy());
  return { server, session };
}

describe('the methods of the ext_proc port', () => {
  it.each([
    ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', 'application/grpc', 200, '12'],
    ['/envoy.service.ext_proc.v3.ExternalProcessor/Process', 'text/plain', 415, undefined],
    ['/', 'application/json', 415, undefined],
  ])('[G6] refuses %s of %s, and goes on', async (path, contentType, status, code) => {
    const { server, session } = await setUp();
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': contentType,
    });
    stream.resume();
    const headers = await new Promise<Record<string, unknown>>((resolve) => {
      stream.once('response', resolve);
    });
    expect([headers[':status'], headers['grpc-status']]).toEqual([status, code]);
    const answers = await exchange(server.port, [
      requestHeaders({ ':method': 'POST', ':path': '/v1/completions' }),
      requestBody('{"model":"m","prompt":"hello"}'),
    ]);
    expect(answers).toHaveLength(2);
  });

  it('[V17] leaves nothing open of streams that are reset as they open, and others are served', async () => {
    const { server, session } = await setUp();
    for (let round = 0; round < 20; round++) {
      for (let each = 0; each < 250; each++) {
        const code = each % 2 === 0 ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_INTERNAL_ERROR;
        openRawStream(session).close(code);
      }
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
