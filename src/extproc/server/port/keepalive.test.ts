import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../../bench/support/stack.ts';
import {
  processorClient,
  requestBody,
  requestHeaders,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import { startCuttableProxy } from '../../../../test/support/servers/cuttable-proxy.ts';
import { startReservingServer } from '../../../../test/support/session/reserving-server.ts';
import { UnsteadyClock } from '../../../../test/support/unsteady-clock.ts';
import { seededRandom } from '../../../runtime/seeded-random.ts';
import { keepAlive } from './keepalive.ts';
import { limitsFor } from './server-limits.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A connection that is asked after 10 s of silence, and has 10 s to answer. */
function watched() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const connection = { reads: 0, pings: 0, ping: () => void (connection.pings += 1) };
  const ends: number[] = [];
  const limits = { keepaliveTimeMs: 10_000, keepaliveTimeoutMs: 10_000 };
  const stop = keepAlive(connection, { clock, ...limits }, () => void ends.push(clock.at));
  return { clock, connection, ends, stop };
}

describe('a process that stands still', () => {
  it('[V543] keeps a connection whose answer came meanwhile', () => {
    const { clock, connection, ends, stop } = watched();
    clock.advanceBy(10_000);
    clock.pass(60_000);
    clock.advanceBy(0);
    connection.reads += 1;
    clock.advanceBy(15_000);
    expect([connection.pings, ends]).toEqual([1, []]);
    clock.advanceBy(10_000);
    expect(connection.pings).toBe(2);
    stop();
    expect(clock.pending).toBe(0);
  });

  it('[V543] ends one that has not answered after it', () => {
    const { clock, connection, ends } = watched();
    clock.advanceBy(10_000);
    clock.pass(60_000);
    clock.advanceBy(10_000);
    expect([connection.pings, ends]).toEqual([1, [79_000]]);
    expect(clock.pending).toBe(0);
  });
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
