import { afterEach, describe, expect, it } from 'vitest';
import {
  exchange,
  processorClient,
  requestBody,
  requestHeaders,
  responseHeaders,
} from '../../../test/support/grpc/ext-proc-client.ts';
import { health } from '../../../test/support/grpc/grpc-health.ts';
import {
  reservingRouter,
  startReservingServer,
} from '../../../test/support/session/reserving-server.ts';
import type { Router } from '../../framework/routing.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { LIMIT_REFUSALS } from '../streams/open-streams.ts';

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

  it('[O235][V514] gives a reason to all that has no answer yet when its time is over, and cuts only answers', async () => {
    const clock = new SimulatedClock();
    const { route } = reservingRouter();
    const placements: unknown[] = [];
    const enqueue: Router['enqueue'] = (request, _options, placement) => {
      if (placements.length > 0) return route(request);
      placements.push(placement);
      return undefined;
    };
    const server = await startReservingServer({ clock }, { route, enqueue });
    const client = processorClient(server.port);
    stops.push(() => client.close());
    const [waits, answers] = [client.Process(), client.Process()];
    const [uploads, picked] = [client.Process(), client.Process()];
    waits.write(HEADERS);
    waits.write(BODY);
    while (placements.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const errors: Error[] = [];
    for (const stream of [waits, answers, uploads, picked]) {
      stream.on('error', (error: Error) => errors.push(error));
    }
    for (const stream of [answers, picked]) {
      const isPicked = new Promise((resolve) => stream.once('data', resolve));
      stream.write(HEADERS);
      stream.write(BODY);
      await isPicked;
    }
    const got: string[] = [];
    answers.on('data', ({ response }: { readonly response: string }) => got.push(response));
    answers.write(responseHeaders({ ':status': '200' }));
    while (got.at(-1) !== 'response_headers') await new Promise((resolve) => setImmediate(resolve));
    uploads.write(HEADERS);
    while (server.sessions() < 4) await new Promise((resolve) => setImmediate(resolve));

    const drained = server.drain({ noticeMs: 0, deadlineMs: 10_000 });
    clock.advanceTo(9999);
    expect(server.refused).toEqual([]);
    const refusals = [waits, uploads, picked].map(
      (stream) => new Promise((resolve) => stream.on('data', resolve)),
    );
    // The timer is set in the turn after the call.
    await new Promise((resolve) => setImmediate(resolve));
    clock.advanceTo(20_000);
    for (const refusal of await Promise.all(refusals)) {
      const immediate = { status: { code: 503 } };
      expect(refusal).toMatchObject({
        response: 'immediate_response',
        immediate_response: immediate,
      });
      const text = JSON.stringify(refusal);
      expect(text).toContain('x-llm-d-request-dropped-reason');
      expect(text).toContain('retry-after');
    }
    await drained;
    expect(server.refused).toEqual(['shutting-down', 'shutting-down', 'shutting-down']);
    const { refused } = server.usage();
    expect(refused.get('shutting-down')).toBe(3);
    // I/O workers have cells for these codes only: any other would be counted without them alone.
    expect([...refused.keys()]).toEqual(LIMIT_REFUSALS);
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(got.at(-1)).toBe('response_headers');
    expect(errors.length).toBeGreaterThan(0);
  });
});
