import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mergedPieces } from './merged-pieces.ts';

const server = createServer();
let client: Socket;
let request: IncomingMessage;

beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const requested = once(server, 'request') as Promise<[IncomingMessage]>;
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  [request] = await requested;
});
afterEach(async () => {
  client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const chunks = (count: number): string => '1\r\nx\r\n'.repeat(count);

describe('mergedPieces', () => {
  it('[V433] gives a body in chunks of a byte as few pieces, with all of it', async () => {
    client.write(`${chunks(200_000)}0\r\n\r\n`);
    const pieces: number[] = [];
    for await (const piece of mergedPieces(request)) pieces.push(piece.length);
    expect(pieces.reduce((sum, each) => sum + each)).toBe(200_000);
    expect(pieces.length).toBeLessThan(400);
  });

  it('[V433] keeps little of a body while its pieces are not taken', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
    };
    const pieces = mergedPieces(request);
    client.write(chunks(1));
    await pieces.next();
    const sent = Buffer.from(chunks(2_000_000));
    const before = used();
    client.write(sent);
    // Until nothing more is read.
    let last = -1;
    for (let turns = 0; turns < 100; turns++) {
      if (request.socket.bytesRead !== last) turns = 0;
      last = request.socket.bytesRead;
      await new Promise(setImmediate);
    }
    expect(request.socket.bytesRead).toBeLessThan(sent.length / 2);
    expect(used() - before).toBeLessThan(3_000_000);
    await pieces.return(undefined);
  });

  it('[V69] throws where the client breaks off', async () => {
    const pieces = mergedPieces(request);
    client.write(chunks(1));
    expect((await pieces.next()).value).toEqual(Buffer.from('x'));
    const next = pieces.next();
    client.destroy();
    await expect(next).rejects.toThrow('broke off');
  });
});
