import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { type GatewayBed, startGatewayBed } from '../../test/support/grpc/gateway-bed.ts';
import { pickOf } from '../../test/support/grpc/scripted-picker.ts';
import type { Visit } from '../../test/support/sidecar/scripted-server.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { GATEWAY_BOUNDS } from './gateway-bounds.ts';

const PICKER_TIMEOUT_MS = 1000;
/** Less than a connection keeps before it asks its sender to wait. */
const PIECE = Buffer.alloc(32 * 1024, 'a');
const LATER_PIECES = 400;

let endpoint: GatewayBed['endpoint'];
let picker: GatewayBed['picker'];
let clock: SimulatedClock;
let gateway: GatewayBed['gateway'];
let bed: GatewayBed;

beforeEach(async () => {
  clock = new SimulatedClock();
  bed = await startGatewayBed(clock, { pickerTimeoutMs: PICKER_TIMEOUT_MS });
  ({ endpoint, picker, gateway } = bed);
});
afterEach(() => bed.stop());

/** Sends a request. The client reads nothing of the answer until it is asked to. */
async function ask(): Promise<{
  readonly visit: Visit;
  /** The gateway's end towards the client. */
  readonly sent: ServerResponse;
  readonly answer: Promise<IncomingMessage>;
}> {
  const responses: ServerResponse[] = [];
  const onRequest = (message: unknown): void => {
    const { server, response } = message as {
      readonly server: { address(): { readonly port: number } | null };
      readonly response: ServerResponse;
    };
    if (server.address()?.port === gateway.port) responses.push(response);
  };
  subscribe('http.server.request.start', onRequest);
  const asking = httpRequest(`http://127.0.0.1:${gateway.port}/v1/completions`, { method: 'POST' });
  asking.end('{"model":"m"}');
  const visit = await endpoint.next();
  unsubscribe('http.server.request.start', onRequest);
  const [sent] = responses;
  if (sent === undefined) throw new Error('the gateway has got no request');
  const answer = once(asking, 'response').then(([message]) => message as IncomingMessage);
  return { visit, sent, answer };
}

/** Answers until the client's connection takes no more, and returns how many bytes that were. */
async function fill({ response }: Visit, sent: ServerResponse): Promise<number> {
  let bytes = 0;
  while (sent.writableLength === 0) {
    response.write(PIECE);
    bytes += PIECE.length;
    while ((sent.socket?.bytesWritten ?? 0) < bytes) await turns(1);
    // What the connection takes at once counts as waiting in the first of these turns.
    await turns(3);
  }
  return bytes;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function bytesOf(answer: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const piece of answer) bytes += (piece as Buffer).length;
  return bytes;
}

it('[V575] a client that reads late gets its answer whole, though the picker has ended its stream', async () => {
  const { visit, sent, answer } = await ask();
  const bytes = await fill(visit, sent);
  visit.response.end();
  await eventually(
    () => sent.writableEnded,
    (is) => is,
  );
  // In these turns the end of the picker's stream is read, too.
  await turns(20);
  clock.advanceTo(PICKER_TIMEOUT_MS);
  expect(sent.writableFinished).toBe(false);
  expect(await bytesOf(await answer)).toBe(bytes);
});

it('[V69] a client that does not read the end of its answer is disconnected', async () => {
  const { visit, sent, answer } = await ask();
  await fill(visit, sent);
  visit.response.end();
  await eventually(
    () => sent.writableEnded,
    (is) => is,
  );
  clock.advanceTo(GATEWAY_BOUNDS.clientIdleTimeoutMs);
  expect(sent.destroyed).toBe(true);
  await expect(answer.then(bytesOf)).rejects.toThrow();
});

it('[V69] the answer of a client that reads late is not kept at the gateway, and it may read on after any time', async () => {
  const { visit, sent, answer } = await ask();
  const filled = await fill(visit, sent);
  for (let piece = 0; piece < LATER_PIECES; piece++) visit.response.write(PIECE);
  await eventually(
    () => sent.writableNeedDrain,
    (is) => is,
  );
  await turns(200);
  expect(sent.writableLength).toBeLessThan((LATER_PIECES * PIECE.length) / 4);
  const reading = await answer;
  let bytes = 0;
  reading.on('data', (piece: Buffer) => {
    bytes += piece.length;
  });
  const sentBytes = filled + LATER_PIECES * PIECE.length;
  await eventually(
    () => bytes,
    (read) => read === sentBytes,
  );
  clock.advanceTo(GATEWAY_BOUNDS.clientIdleTimeoutMs);
  visit.response.end('1');
  await once(reading, 'end');
  expect(bytes).toBe(sentBytes + 1);
});

it('[V575] a picker that ended its stream at the response is not waited for', async () => {
  const pick = pickOf(endpoint.address);
  picker.script((input, stream) => {
    if (input.response_headers === undefined) pick(input, stream);
    else stream.end();
  });
  const { visit, answer } = await ask();
  visit.response.write('1');
  const whole = bytesOf(await answer);
  clock.advanceTo(PICKER_TIMEOUT_MS);
  visit.response.end('2');
  expect(await whole).toBe(2);
});
