import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, Server } from 'node:net';

const REASONS: Readonly<Record<string, string>> = {
  // A connection holds its own port, too: on Linux one of 32768 to 60999 unless it chooses one.
  EADDRINUSE:
    'the port is taken: another process listens there already, or has a connection from it; stop it, or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address; choose one of its own',
  ENOTSUP: 'threads cannot share a port on this system; leave out --io-workers',
  EACCES: 'this user is not allowed to; choose a port of 1024 or more',
};

/** The picker cannot listen on an address, `host:port`. The message says why and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';

  constructor(address: string, cause: Error) {
    // ZeroMQ has the system's code in a field, gRPC only in the text.
    const { code = /\bE[A-Z]{4,}\b/.exec(cause.message)?.[0] ?? '' } = cause as { code?: string };
    super(`cannot listen on ${address}: ${REASONS[code] ?? cause.message}`, { cause });
  }
}

/** Listens and resolves to the port, a free one for port 0. Rejects with a ListenError. */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new ListenError(`${host}:${port}`, error)));
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

/** Accepts no more connections, and cuts none: Node's own method for HTTP cuts idle ones. */
export function closePort(server: HttpServer): void {
  Server.prototype.close.call(server);
}

/** Accepts no more connections and cuts those that are open. */
export function closeServer(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/**
 * A port on which nothing listens: the port itself, or a free one for 0. Rejects with a
 * ListenError.
 */
export async function freePort(host: string, port: number): Promise<number> {
  const server = createServer();
  const found = await listen(server, host, port);
  await new Promise((resolve) => server.close(resolve));
  return found;
}
