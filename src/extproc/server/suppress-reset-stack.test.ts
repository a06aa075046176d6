import { once } from 'node:events';
import {
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { suppressResetStack } from './suppress-reset-stack.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0).toReversed()) stop();
});

/** A stream at the server and at the client. */
async function open(): Promise<{ served: ServerHttp2Stream; asked: ClientHttp2Stream }> {
  const server = createServer();
  stops.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  stops.push(() => client.close());
  const streams = once(server, 'stream') as Promise<[ServerHttp2Stream]>;
  const asked = client.request({ ':method': 'POST' }, { endStream: false });
  asked.on('error', () => undefined);
  const [served] = await streams;
  served.respond();
  return { served, asked };
}

async function errorOfReset(prepare: (served: ServerHttp2Stream) => void): Promise<Error> {
  const { served, asked } = await open();
  prepare(served);
  const errors = once(served, 'error') as Promise<[Error]>;
  asked.close(constants.NGHTTP2_INTERNAL_ERROR);
  const [error] = await errors;
  return error;
}

const framesOf = ({ stack = '' }: Error): number => stack.split('\n    at ').length - 1;

it('spares a stream that its peer resets the stack of the error, and none but that', async () => {
  const [plain, spared] = [
    await errorOfReset(() => undefined),
    await errorOfReset(suppressResetStack),
  ];
  expect(framesOf(plain)).toBeGreaterThan(0);
  expect(framesOf(spared)).toBe(0);
  expect(spared.message).toBe(plain.message);
  expect(framesOf(new Error('of our own'))).toBeGreaterThan(0);
});
