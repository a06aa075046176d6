import { afterEach, describe, expect, it } from 'vitest';
import {
  exchange,
  processorClient,
  requestBody,
  requestHeaders,
} from '../../../test/support/ext-proc-client.ts';
import { health } from '../../../test/support/grpc-health.ts';
import { startReservingServer } from '../../../test/support/reserving-server.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const HEADERS = requestHeaders({ ':method': 'POST', ':path': '/v1/completions' });
const BODY = requestBody('{"model":"m","prompt":"hello"}');

describe('a drain', () => {
  it('[V11] reports NOT_SERVING first, and accepts connections and requests until the notice is over', async () => {
    const clock = new SimulatedClock();
    const server = await startReservingServer({ clock });
    let over = false;
    const drained = server.drain({ noticeMs: 5000, deadlineMs: 10_000 }).then(() => {
      over = true;
    });
    expect(await health(server.port, '')).toBe('NOT_SERVING');
    clock.advanceTo(4999);
    // A new client makes a new connection.
    const answers = await exchange(server.port, [HEADERS, BODY]);
    expect(answers.map(({ response }) => response)).toEqual(['request_headers', 'request_body']);
    expect(over).toBe(false);
    clock.advanceTo(5000);
    await drained;
    await expect(exchange(server.port, [HEADERS, BODY])).rejects.toThrow('UNAVAILABLE');
  });

  it('[V11] lets a request finish that came within the notice', async () => {
    const clock = new SimulatedClock();
    const server = await startReservingServer({ clock });
    const drained = server.drain({ noticeMs: 5000, deadlineMs: 10_000 });
    const client = processorClient(server.port);
    stops.push(() => client.close());
    const stream = client.Process();
    const got: string[] = [];
    stream.write(HEADERS);
    while (server.sessions() === 0) await new Promise((resolve) => setImmediate(resolve));
    clock.advanceTo(5000);
    stream.write(BODY);
    stream.end();
    for await (const { response } of stream as AsyncIterable<{ readonly response: string }>) {
      got.push(response);
    }
    await drained;
    expect(got).toEqual(['request_headers', 'request_body']);
    expect(server.reservations()).toBe(0);
  });
});
