import { afterEach, describe, expect, it } from 'vitest';
import {
  A_HEADER,
  frame,
  GRPC_HEADERS,
  type RawHttp2Server,
  startRawHttp2Server,
} from '../../../../test/support/servers/raw-http2-server.ts';
import { GrpcCall } from './grpc-call.ts';

let server: RawHttp2Server | undefined;
afterEach(() => server?.stop());

/** What ends a call to a server that answers with these bytes. */
async function endOf(answer: Buffer): Promise<string> {
  const started = await startRawHttp2Server((socket) => void socket.write(answer));
  server = started;
  return new Promise((onClosed) => {
    const address = `127.0.0.1:${started.port}`;
    const options = { address, method: '/a/B', messageBytesMax: 2 ** 22, tls: undefined };
    new GrpcCall({ ...options, onMessage: () => undefined, onClosed });
  });
}

describe('a scheduler whose HTTP/2 is broken', () => {
  it('[V454] loses its stream before Node’s HTTP/2 sees headers without an end', async () => {
    // They ended the process in one of 1 to 150 connections, once the session was collected.
    const more = Array.from({ length: 9 }, () => frame(9, 0, 1, A_HEADER));
    const reason = await endOf(Buffer.concat([frame(1, 0, 1, GRPC_HEADERS), ...more]));
    expect(reason).toContain('the server sends headers of over 9 frames');
  });

  it('[V455] loses its stream for a message in frames of a byte each', async () => {
    // The message says that it has 4 MB.
    const message = Buffer.concat([Buffer.from([0, 0, 0x3d, 0x09, 0]), Buffer.alloc(40_000)]);
    const bytes = Array.from(message, (byte) => frame(0, 0, 1, Buffer.from([byte])));
    const reason = await endOf(Buffer.concat([frame(1, 4, 1, GRPC_HEADERS), ...bytes]));
    expect(reason).toContain('the server sends more than 20000 HTTP/2 frames a second');
  });
});
