import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../bench/support/stack.ts';
import {
  processorClient,
  requestBody,
  requestHeaders,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import { startCuttableProxy } from '../../../../test/support/servers/cuttable-proxy.ts';
import { startReservingServer } from '../../../../test/support/session/reserving-server.ts';
import { limitsFor } from './server-limits.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

describe('a connection of a gateway whose host has vanished', () => {
  it('[V10] is closed, and its streams give their reservations back', async () => {
    const limits = { ...limitsFor(2 ** 30), keepaliveTimeMs: 20, keepaliveTimeoutMs: 3000 };
    const server = await startReservingServer({ limits });
    stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
    const proxy = await startCuttableProxy(server.port);
    stops.push(() => proxy.stop());
    const client = processorClient(proxy.port);
    stops.push(() => client.close());
    for (let index = 0; index < 3; index++) {
      const stream = client.Process();
      stream.on('error', () => undefined);
      const answered = new Promise((resolve) => stream.once('data', resolve));
      stream.write(requestHeaders({ ':method': 'POST', ':path': '/v1/completions' }));
      stream.write(requestBody('{"model":"m","prompt":"hello"}'));
      await answered;
    }
    expect([server.sessions(), server.reservations()]).toEqual([3, 3]);
    proxy.silence();
    await eventually(
      () => [server.sessions(), server.reservations()],
      ([sessions, held]) => sessions === 0 && held === 0,
    );
  });
});
