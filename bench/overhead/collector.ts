import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Takes what is sent and answers as a collector does that has accepted all. */
export async function startCollector(): Promise<{
  readonly url: string;
  readonly bytes: () => number;
  stop(): void;
}> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on('end', () => {
      response.setHeader('content-type', 'application/x-protobuf');
      response.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, bytes: () => bytes, stop };
}
