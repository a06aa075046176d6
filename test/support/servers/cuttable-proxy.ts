import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy to a port of 127.0.0.1 whose connections a test can reset or let fall silent. */
export interface CuttableProxy {
  readonly port: number;
  /** Resets every connection and returns their number. New connections are accepted. */
  cut(): number;
  /** Passes no byte more, in either direction, and closes nothing: as if a host had vanished. */
  silence(): void;
  stop(): Promise<void>;
}

export async function startCuttableProxy(targetPort: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): number => {
    const cutOff = sockets.size / 2;
    for (const socket of sockets) socket.resetAndDestroy();
    return cutOff;
  };
  const silence = (): void => {
    for (const socket of sockets) {
      socket.unpipe();
      socket.on('data', () => undefined);
    }
  };
  return {
    silence,
    port: (server.address() as AddressInfo).port,
    cut,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}
