import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls, createServer, type Server } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { issue, newAuthority } from '../../../../test/support/servers/certificates.ts';
import { boundHandshakes } from './bound-handshakes.ts';

/** The first bytes of a greeting that announces more. */
const BEGUN = Buffer.from('1603010200010001fc0303', 'hex');

let certificate: { readonly cert: Buffer; readonly key: Buffer };
let server: Server;
const sockets: Socket[] = [];

beforeAll(async () => {
  certificate = await issue(await newAuthority('a'), 'localhost');
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});
afterAll(() => server.close());

async function listen(handshakeTimeout: number, handshakesMax?: number): Promise<void> {
  server = createServer({ ...certificate, handshakeTimeout }, (socket) => {
    sockets.push(socket.on('error', () => undefined));
    socket.write('served');
  });
  boundHandshakes(server, handshakesMax);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

const port = (): number => (server.address() as AddressInfo).port;

/** A connection whose handshake stays where it has begun. */
async function begun(): Promise<{ readonly closed: Promise<unknown> }> {
  const accepted = once(server, 'connection');
  const socket = connect(port(), '127.0.0.1', () => socket.write(BEGUN));
  sockets.push(socket.on('error', () => undefined));
  // Before it can close, and also where it closes by a reset, which `once` would throw.
  const closed = new Promise((resolve) => void socket.once('close', resolve));
  await accepted;
  return { closed };
}

async function shake(): Promise<Socket> {
  const socket = connectTls({
    port: port(),
    host: '127.0.0.1',
    servername: 'localhost',
    rejectUnauthorized: false,
  });
  sockets.push(socket.on('error', () => undefined));
  const [data] = (await once(socket, 'data')) as [Buffer];
  expect(data.toString()).toBe('served');
  return socket;
}

describe('TLS handshakes that do not end', () => {
  it('[V417] lose their connection after the time limit', async () => {
    await listen(20);
    await (await begun()).closed;
  });

  it('[V417] beyond a number end from the oldest on, and others are served', async () => {
    await listen(60_000, 2);
    const served = await shake();
    const first = await begun();
    const second = await begun();
    await begun();
    await first.closed;
    // It takes the place of the next one while it lasts.
    await shake();
    await second.closed;
    expect(served.destroyed).toBe(false);
  });
});
