import { connect } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { frameOf, openRawStream } from '../../../bench/support/ext-proc-frames.ts';
import { requestBody, requestHeaders } from '../../../test/support/ext-proc-client.ts';
import { startReservingServer } from '../../../test/support/reserving-server.ts';
import { decodeRequest } from '../codec/decode-request.ts';
import { keepable } from './run-session.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** The event of a message among `around` other bytes that came with it. */
function chunkAmong(content: string, endOfStream: boolean, around: number): Buffer {
  const message = frameOf(requestBody(content, endOfStream)).subarray(5);
  const together = Buffer.allocUnsafeSlow(message.length + around);
  message.copy(together, around);
  const event = keepable(decodeRequest(together.subarray(around)));
  if (event.kind !== 'request-body') throw new Error(event.kind);
  expect([String(event.chunk), event.endOfStream]).toEqual([content, endOfStream]);
  return event.chunk;
}

describe('what a session keeps of the bytes that came', () => {
  it('[G4] is memory of its own for a body that goes on', () => {
    const text = 'x'.repeat(30_000);
    expect(chunkAmong(text, false, 0).buffer.byteLength).toBe(30_000);
  });

  it('[G4] is at most four times the last chunk of a body', () => {
    const text = 'x'.repeat(30_000);
    expect(chunkAmong(text, true, 1000).buffer.byteLength).toBeGreaterThan(31_000);
    expect(chunkAmong(text, true, 200_000).buffer.byteLength).toBe(30_000);
  });
});

describe('a call with a deadline', () => {
  it('[G5] ends with DEADLINE_EXCEEDED when its time is over, and gives its reservation back', async () => {
    const server = await startReservingServer();
    stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
    const session = connect(`http://127.0.0.1:${server.port}`);
    stops.push(() => session.destroy());
    const stream = openRawStream(session, { 'grpc-timeout': '400m' });
    const trailers = new Promise<Record<string, unknown>>((resolve) => {
      stream.once('trailers', resolve);
    });
    stream.resume();
    stream.write(frameOf(requestHeaders({ ':method': 'POST', ':path': '/v1/completions' })));
    stream.write(frameOf(requestBody('{"model":"m","prompt":"hello"}')));
    expect((await trailers)['grpc-status']).toBe('4');
    stream.close(8);
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(server.reservations()).toBe(0);
  });
});
