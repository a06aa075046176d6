import { once } from 'node:events';
import { connect } from 'node:http2';
import { afterEach, expect, it } from 'vitest';
import { startReservingServer } from '../../../../test/support/session/reserving-server.ts';
import { limitsFor } from '../port/server-limits.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

it('[V251] ends the oldest of many open health calls, so that a new one is answered', async () => {
  const server = await startReservingServer({
    limits: { ...limitsFor(2 ** 30), streamsMax: 5000 },
  });
  stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
  const session = connect(`http://127.0.0.1:${server.port}`);
  stops.push(() => session.destroy());
  const ended: number[] = [];
  /** Resolves to `open` once a message has come. */
  const call = (method: string, number = -1): Promise<unknown> => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `/grpc.health.v1.Health/${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    stream.on('close', () => void (number >= 0 && ended.push(number)));
    stream.end(Buffer.alloc(5));
    return new Promise((resolve) => {
      stream.on('data', () => resolve('open'));
    });
  };
  await Promise.all(Array.from({ length: 1000 }, (_, index) => call('Watch', index)));
  expect(ended).toEqual([]);
  expect(await call('Check')).toBe('open');
  expect(await call('Watch')).toBe('open');
  expect(ended).toEqual([0]);
});

it.each([
  ['liveness', 1],
  ['readiness', 1],
  ['', 1],
  // As gRPC says: the service may be there later.
  ['another', 3],
])('[T110] watches the service "%s" as status %i', async (service, status) => {
  const server = await startReservingServer({});
  stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
  const session = connect(`http://127.0.0.1:${server.port}`);
  stops.push(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  const name = Buffer.from(service);
  const message = service === '' ? Buffer.alloc(0) : Buffer.from([0x0a, name.length, ...name]);
  stream.end(Buffer.from([0, 0, 0, 0, message.length, ...message]));
  const [answer] = (await once(stream, 'data')) as [Buffer];
  expect([...answer.subarray(5)]).toEqual([0x08, status]);
});
