import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port for a program that has to be told which one it listens at, before it does. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
