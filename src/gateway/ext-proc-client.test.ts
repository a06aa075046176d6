import { afterEach, expect, it, vi } from 'vitest';
import { type FullServer, startFullServer } from '../../test/support/servers/full-server.ts';
import {
  A_HEADER,
  frame,
  GRPC_HEADERS,
  type RawHttp2Server,
  startRawHttp2Server,
} from '../../test/support/servers/raw-http2-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { createExtProcClient, type ExtProcClient } from './ext-proc-client.ts';

let picker: RawHttp2Server | undefined;
let full: FullServer | undefined;
let client: ExtProcClient | undefined;
afterEach(() => {
  client?.close();
  picker?.stop();
  full?.stop();
});

it('[V454] a picker whose headers do not end loses its connection before Node reads them', async () => {
  const more = Array.from({ length: 9 }, () => frame(9, 0, 1, A_HEADER));
  const answer = Buffer.concat([frame(1, 0, 1, GRPC_HEADERS), ...more]);
  picker = await startRawHttp2Server((socket) => void socket.write(answer));
  const address = `127.0.0.1:${picker.port}`;
  client = createExtProcClient({ address, tls: false, clock: new SimulatedClock() });
  const stream = client.process();
  const error = await new Promise<Error>((resolve) => void stream.on('error', resolve));
  expect(error.message).toContain('the server sends headers of over 9 frames');
});

it('[V497] a stream whose connection ends before an answer is sent once more, and not twice', async () => {
  let opened = 0;
  picker = await startRawHttp2Server((socket) => {
    opened += 1;
    socket.destroy();
  });
  const address = `127.0.0.1:${picker.port}`;
  client = createExtProcClient({ address, tls: false, clock: new SimulatedClock() });
  const stream = client.process();
  stream.write({});
  const error = await new Promise<Error>((resolve) => void stream.on('error', resolve));
  expect(error.message).toContain('UNAVAILABLE');
  expect(opened).toBe(2);
});

it('[V497] a stream whose connection ends after an answer has begun is not sent again', async () => {
  let opened = 0;
  picker = await startRawHttp2Server((socket) => {
    opened += 1;
    socket.end(frame(1, 4, 1, GRPC_HEADERS));
  });
  const address = `127.0.0.1:${picker.port}`;
  client = createExtProcClient({ address, tls: false, clock: new SimulatedClock() });
  const stream = client.process();
  stream.write({});
  await new Promise<Error>((resolve) => void stream.on('error', resolve));
  expect(opened).toBe(1);
});

it('[V481] a picker that takes no connection for 5 s fails the requests that wait, and is tried anew', async () => {
  full = await startFullServer();
  const clock = new SimulatedClock();
  client = createExtProcClient({ address: `127.0.0.1:${full.port}`, tls: false, clock });
  for (const time of ['first', 'second']) {
    const onError = vi.fn<(error: Error) => void>();
    client.process().on('error', onError);
    await vi.waitFor(() => {
      clock.advanceTo(clock.now() + 5000);
      expect(onError, time).toHaveBeenCalledOnce();
    });
    expect(onError.mock.calls[0]?.[0].message).toContain('UNAVAILABLE');
  }
});
