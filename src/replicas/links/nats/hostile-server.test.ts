import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { natsLink } from './nats-link.ts';

const GREETING = 'INFO {"version":"2.10.0","proto":1,"max_payload":1048576}\r\n';

interface Link {
  readonly forged: readonly number[];
  readonly messages: readonly string[];
  /** `connected`, and why it was not from then on. */
  readonly states: readonly string[];
  /** All that the server could send. */
  sentBytes(): number;
  close(): Promise<void>;
}

const links: Link[] = [];
afterEach(async () => {
  await Promise.all(links.splice(0).map((each) => each.close()));
});

/** A link to a server that does this with each connection, once it has greeted where it does. */
async function linkTo(serve: (socket: Socket) => void): Promise<Link> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      sent += socket.bytesWritten - socket.writableLength;
    });
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [forged, messages, states]: [number[], string[], string[]] = [[], [], []];
  const link = natsLink({ servers: `nats://127.0.0.1:${port}`, subject: 'x' })('a', {
    onMessage: (data) => void messages.push(Buffer.from(data).toString()),
    onConnected: () => void states.push('connected'),
    onForged: (bytes) => void forged.push(bytes),
    onDisconnected: (reason) => void states.push(reason),
  });
  const close = async (): Promise<void> => {
    await link.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const all = { forged, messages, states, sentBytes: () => sent, close };
  links.push(all);
  return all;
}

/** Greets, answers the first ping, and then does this. */
function greeted(then: (socket: Socket) => void): (socket: Socket) => void {
  return (socket) => {
    socket.write(GREETING);
    socket.once('data', () => {
      socket.write('PONG\r\n');
      socket.resume();
      then(socket);
    });
  };
}

/** Writes this for ever, as fast as it is read. */
function flood(socket: Socket, text: string): void {
  const bytes = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
  const write = (): void => {
    while (!socket.destroyed && socket.write(bytes)) {}
  };
  socket.on('drain', write);
  write();
}

const until = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 5 });

describe('a hostile NATS server', () => {
  it.each([
    ['a greeting without end', (socket: Socket) => flood(socket, 'a'), /greeting has more than/],
    ['another protocol', (socket: Socket) => void socket.write('220 mail\r\n'), /does not greet/],
    ['a line without end', greeted((socket) => flood(socket, 'MSG a')), /a line of more than/],
    ['garbage', greeted((socket) => flood(socket, 'a\r\n')), /does not speak the protocol/],
    ['a message beyond NATS', greeted((s) => void s.write('MSG a 1 999999999\r\n')), /announces/],
  ])('[V410] that sends %s is left, and the log says why', async (_what, serve, reason) => {
    const link = await linkTo(serve);
    await until(() => expect(link.states.join('\n')).toMatch(reason));
    await until(() => expect(link.sentBytes()).toBeGreaterThan(0));
    // What the sockets of both sides keep.
    expect(link.sentBytes()).toBeLessThan(16 * 1024 * 1024);
  });

  it('[V410] cannot have a message kept that no replica sends, and others are read after it', async () => {
    const link = await linkTo(
      greeted((socket) => {
        socket.write(
          `MSG x.all 1 2000000\r\n${'x'.repeat(2_000_000)}\r\nMSG x.all 1 5\r\nhello\r\n`,
        );
      }),
    );
    await until(() => expect(link.messages).toEqual(['hello']));
    expect(link.forged).toEqual([2_000_000]);
    expect(link.states).toEqual(['connected']);
  });

  it('[V410] that asks for answers and does not read them is left', async () => {
    const link = await linkTo(
      greeted((socket) => {
        socket.pause();
        flood(socket, 'PING\r\n');
      }),
    );
    await until(() => expect(link.states.join('\n')).toMatch(/does not read what is sent to it/));
  });

  it('[V413] that never answers delays the end of a picker by a second at most', async () => {
    let pings = 0;
    const link = await linkTo(
      greeted((socket) =>
        socket.on('data', (data) => {
          pings += data.toString().split('PING').length - 1;
        }),
      ),
    );
    await until(() => expect(link.states).toEqual(['connected']));
    await links.pop()?.close();
    // One comes every two seconds, and after the third without an answer the connection would end.
    expect(pings).toBeLessThanOrEqual(2);
  });
});
