import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { type GatewayBed, startGatewayBed } from '../../test/support/grpc/gateway-bed.ts';
import {
  type PickerInput,
  type PickerScript,
  pickOf,
} from '../../test/support/grpc/scripted-picker.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { GATEWAY_BOUNDS, type GatewayBounds } from './gateway-bounds.ts';

const { pickerTimeoutMs, firstByteTimeoutMs, idleTimeoutMs } = GATEWAY_BOUNDS;
const { uploadTimeoutMs, clientIdleTimeoutMs } = GATEWAY_BOUNDS;

let bed: GatewayBed;
let endpoint: GatewayBed['endpoint'];
let picker: GatewayBed['picker'];
let clock: SimulatedClock;
let gateway: GatewayBed['gateway'];

beforeEach(() => {
  clock = new SimulatedClock();
});
afterEach(() => bed.stop());

async function start(bounds: Partial<GatewayBounds> = {}): Promise<void> {
  bed = await startGatewayBed(clock, bounds);
  ({ endpoint, picker, gateway } = bed);
}

const url = (): string => `http://127.0.0.1:${gateway.port}/v1/completions`;
const post = (body = '{"model":"m"}'): Promise<Response> => fetch(url(), { method: 'POST', body });

/** The usual answers, except where `own` returns true. */
const except = (own: (...args: Parameters<PickerScript>) => boolean): void =>
  picker.script((input, stream) => {
    if (!own(input, stream)) pickOf(endpoint.address)(input, stream);
  });

/** Resolves when the picker has got such a message. */
function silentAt(which: (input: PickerInput) => boolean): Promise<void> {
  return new Promise((resolve) => {
    except((input) => {
      if (which(input)) resolve();
      return which(input);
    });
  });
}

/** The clock goes on until the answer is there: the limit may begin to wait a moment later. */
async function afterLimit<T>(answer: Promise<T>, limitMs: number): Promise<T> {
  let done = false;
  const settled = answer.finally(() => {
    done = true;
  });
  settled.catch(() => undefined);
  await eventually(
    () => {
      clock.advanceTo(clock.now() + limitMs);
      return done;
    },
    (is) => is,
  );
  return settled;
}

describe('a picker', () => {
  it.each([
    ['the request', (input: PickerInput) => input.request_body?.end_of_stream === true],
    ['the response', (input: PickerInput) => input.response_headers !== undefined],
  ])('[V69] that does not answer %s is a 503 after a time', async (_, which) => {
    await start({ firstByteTimeoutMs: 0, idleTimeoutMs: 0, uploadTimeoutMs: 0 });
    const silent = silentAt(which);
    const answer = post();
    void endpoint.next().then(({ response }) => response.end('{}'));
    await silent;
    const refused = await afterLimit(answer, pickerTimeoutMs);
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringContaining('the endpoint picker did not answer'),
    ]);
  });

  it('[V69] that fails before the request has gone on is a 503', async () => {
    await start();
    picker.script((_input, stream) => {
      stream.emit('error', { code: status.INTERNAL, details: 'broken' });
    });
    expect((await post()).status).toBe(503);
  });

  it('[V69] that ends its stream before the request has gone on is a 503', async () => {
    await start();
    picker.script((_input, stream) => stream.end());
    expect((await post()).status).toBe(503);
  });

  it.each([
    ['fails', (stream: Parameters<PickerScript>[1]) => void stream.emit('error', { code: 13 })],
    ['ends its stream', (stream: Parameters<PickerScript>[1]) => void stream.end()],
  ])('[V69] that %s within an answer leaves no answer that looks whole', async (_, end) => {
    await start();
    except(({ response_body }, stream) => {
      if (response_body?.body?.toString() !== '2') return false;
      end(stream);
      return true;
    });
    const answer = post();
    const { response, closed } = await endpoint.next();
    response.write('1');
    const reader = (await answer).body?.getReader();
    await reader?.read();
    response.write('2');
    await expect(reader?.read()).rejects.toThrow();
    await closed;
  });

  it('[V69] that ends its stream at the response loses nothing of it', async () => {
    await start();
    except(({ response_headers }, stream) => {
      if (response_headers !== undefined) stream.end();
      return response_headers !== undefined;
    });
    const answer = post();
    (await endpoint.next()).response.end('x'.repeat(300_000));
    expect((await (await answer).text()).length).toBe(300_000);
  });

  it('[V69] whose answer cannot be used is a 502, and the gateway serves on', async () => {
    await start();
    const header = { key: 'x-a', raw_value: Buffer.from('a\r\nset-cookie: b') };
    const mutation = { response: { header_mutation: { set_headers: [{ header }] } } };
    except(({ response_headers }, stream) => {
      if (response_headers !== undefined) stream.write({ response_headers: mutation });
      return response_headers !== undefined;
    });
    const answer = post();
    (await endpoint.next()).response.end('{}');
    expect((await answer).status).toBe(502);
    picker.script(pickOf(endpoint.address));
    const next = post();
    (await endpoint.next()).response.end('{}');
    expect((await next).status).toBe(200);
  });

  it('[V69] that refuses an upload under way gets its answer to the client', async () => {
    await start();
    const body = Buffer.from('too large');
    picker.script(({ request_body }, stream) => {
      if (request_body === undefined) return;
      stream.write({ immediate_response: { status: { code: 413 }, body } });
    });
    const upload = httpRequest(url(), { method: 'POST', agent: false });
    upload.on('error', () => undefined);
    const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
    upload.write('x'.repeat(4_000_000));
    expect((await answered)[0].statusCode).toBe(413);
    upload.destroy();
  });
});

describe('an endpoint', () => {
  it('[V69] that sends no headers in time is a 504', async () => {
    await start();
    const answer = post();
    const { closed } = await endpoint.next();
    clock.advanceTo(firstByteTimeoutMs);
    expect((await answer).status).toBe(504);
    await closed;
  });

  it.each([
    ['a flood of interim answers', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17)],
    ['a status that is none', 'HTTP/1.1 000 X\r\ncontent-length: 0\r\n\r\n'],
    ['what is no HTTP', 'SSH-2.0-OpenSSH_9.9\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
  ])('[V443] that sends %s is a 502', async (_, bytes) => {
    await start();
    const answer = post();
    const { response, closed } = await endpoint.next();
    response.socket?.write(bytes);
    expect((await answer).status).toBe(502);
    await closed;
  });

  it.each(['breaks off', 'falls silent'])(
    '[V69] that %s leaves no answer that looks whole',
    async (what) => {
      await start({ clientIdleTimeoutMs: 0, pickerTimeoutMs: 0 });
      const answer = post();
      const { response, closed } = await endpoint.next();
      response.write('1');
      const reader = (await answer).body?.getReader();
      await reader?.read();
      if (what === 'breaks off') response.destroy();
      const end = afterLimit<unknown>(Promise.resolve(reader?.read()), idleTimeoutMs);
      await expect(end).rejects.toThrow();
      await closed;
    },
  );
});

it('[V550] a picker that returns the body and not the headers is a 502: else no time limit would run', async () => {
  await start();
  except((input) => input.request_headers !== undefined);
  expect((await post()).status).toBe(502);
  expect(endpoint.visits).toBe(0);
});

it('[V551] a picker that returns more of a body after its end is a 502', async () => {
  await start();
  const end = { response: { body_mutation: { streamed_response: { end_of_stream: true } } } };
  picker.script((input, stream) => {
    if (input.request_body?.end_of_stream !== true) pickOf(endpoint.address)(input, stream);
    else for (let n = 0; n < 2; n++) stream.write({ request_body: end });
  });
  expect((await post()).status).toBe(502);
});

describe('a client', () => {
  function startUpload(): ClientRequest {
    const headers = { 'content-length': 1000 };
    const upload = httpRequest(url(), { method: 'POST', headers, agent: false });
    upload.on('error', () => undefined).flushHeaders();
    return upload;
  }

  it('[V69] whose upload stands still is refused with 408', async () => {
    await start();
    const upload = startUpload();
    const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
    const [response] = await afterLimit(answered, Math.min(clientIdleTimeoutMs, uploadTimeoutMs));
    expect(response.statusCode).toBe(408);
    upload.destroy();
    expect(endpoint.visits).toBe(0);
  });

  it('[V576] gets the head of an answer before there is any of its body', async () => {
    await start();
    const asked = post();
    const { response } = await endpoint.next();
    response.writeHead(201).flushHeaders();
    const answer = await asked;
    response.end('1');
    expect([answer.status, await answer.text()]).toEqual([201, '1']);
  });

  it('[V69] that does not read its answer is disconnected', async () => {
    await start({ idleTimeoutMs: 0, pickerTimeoutMs: 0, firstByteTimeoutMs: 0 });
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => undefined).pause();
    socket.write('GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n');
    const { response, closed } = await endpoint.next();
    const chunk = Buffer.alloc(64 * 1024);
    const fill = (): void => {
      while (!response.destroyed && response.write(chunk)) continue;
    };
    response.on('drain', fill);
    fill();
    await afterLimit(closed, clientIdleTimeoutMs);
    socket.destroy();
  });

  it('[V69] is refused with 503 beyond the bound of open requests', async () => {
    await start({ requestsMax: 1 });
    const first = post();
    const { response } = await endpoint.next();
    expect((await post()).status).toBe(503);
    response.end('{}');
    expect((await first).status).toBe(200);
  });
});
