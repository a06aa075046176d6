import { connect } from 'node:http2';
import { afterEach, describe, expect, it } from 'vitest';
import { frameOf, openRawStream } from '../../../../bench/support/ext-proc-frames.ts';
import {
  type Answer,
  answersIn,
  requestBody,
  requestHeaders,
} from '../../../../test/support/grpc/ext-proc-client.ts';
import { inertRouted } from '../../../../test/support/session/inert-routed.ts';
import {
  reservingRouter,
  startReservingServer,
} from '../../../../test/support/session/reserving-server.ts';
import { RoutingError } from '../../../framework/error.ts';
import type { InferenceRequest } from '../../../framework/request.ts';
import type { Placement } from '../../../framework/routing.ts';

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

describe('a client that ends its side before it has its answer', () => {
  /** A request that waits for its endpoint, whose client has ended its side. */
  async function setUp() {
    const placements: Placement[] = [];
    const { route } = reservingRouter();
    const enqueue = (_request: InferenceRequest, _options: object, placement: Placement) =>
      void placements.push(placement);
    const server = await startReservingServer({}, { route, enqueue });
    stops.push(() => server.drain({ noticeMs: 0, deadlineMs: 0 }));
    const session = connect(`http://127.0.0.1:${server.port}`);
    stops.push(() => session.destroy());
    const stream = openRawStream(session);
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    const answers = new Promise<readonly Answer[]>((resolve) => {
      stream.once('trailers', () => resolve(answersIn(Buffer.concat(pieces))));
    });
    const sent = new Promise((resolve) => stream.once('finish', resolve));
    stream.write(frameOf(requestHeaders({ ':method': 'POST', ':path': '/v1/completions' })));
    stream.end(frameOf(requestBody('{"model":"m","prompt":"hello"}')));
    await sent;
    // Once this is answered, all that came before it has been read.
    await new Promise((resolve) => session.ping(resolve));
    const ended: string[] = [];
    const routed = inertRouted({
      request: { id: 'r', model: 'm' } as InferenceRequest,
      destinations: ['10.0.0.1:8000'],
      done: (outcome) => void ended.push(outcome),
    });
    return { placement: placements[0], routed, answers, ended, server };
  }

  it('[V221] gets it when its pick is made, and the stream ends then', async () => {
    const { placement, routed, answers, ended, server } = await setUp();
    placement?.placed(routed);
    const kinds = (await answers).map(({ response }) => response);
    expect(kinds).toEqual(['request_headers', 'request_body']);
    expect([ended, server.sessions()]).toEqual([['aborted'], 0]);
  });

  it('[V221] gets its refusal', async () => {
    const { placement, answers, server } = await setUp();
    placement?.refused(new RoutingError('too-many-streams', 'no room'));
    const [answer] = await answers;
    expect(answer?.immediate_response?.status.code).toBe(503);
    expect(server.sessions()).toBe(0);
  });

  it('[V221] leaves nothing when it goes away', async () => {
    const { placement, routed, ended, server } = await setUp();
    const gone = stops.pop();
    await gone?.();
    while (server.sessions() > 0) await new Promise((resolve) => setImmediate(resolve));
    placement?.placed(routed);
    expect(ended).toEqual(['aborted']);
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
