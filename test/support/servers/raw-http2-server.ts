import { createServer, type Socket } from 'node:net';

export interface RawHttp2Server {
  readonly port: number;
  stop(): void;
}

const HEAD_BYTES = 9;
const PREFACE_BYTES = 24;
const HEADERS = 1;
const SETTINGS = 4;

/** A frame of HTTP/2, of any type and on any stream. */
export function frame(type: number, flags: number, stream: number, ...parts: Buffer[]): Buffer {
  const payload = Buffer.concat(parts);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** `:status: 200` and `content-type: application/grpc`, as HPACK has them. */
export const GRPC_HEADERS: Buffer = Buffer.from(
  `\x88\x00\x0ccontent-type\x10application/grpc`,
  'latin1',
);
/** `x-a: b`. */
export const A_HEADER: Buffer = Buffer.from('\x00\x03x-a\x01b', 'latin1');

/** Answers the first request of each connection, which is stream 1, with these bytes. */
export function startRawHttp2Server(answer: (socket: Socket) => void): Promise<RawHttp2Server> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(frame(SETTINGS, 0, 0));
    let seen = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      if (seen.length === 0 || !hasRequest(seen)) {
        seen = Buffer.concat([seen, bytes]);
        if (hasRequest(seen)) answer(socket);
      }
    });
  });
  const stop = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve({ port: address !== null && typeof address === 'object' ? address.port : 0, stop });
    });
  });
}

function hasRequest(seen: Buffer): boolean {
  for (let at = PREFACE_BYTES; at + HEAD_BYTES <= seen.length; ) {
    if (seen[at + 3] === HEADERS) return true;
    at += HEAD_BYTES + seen.readUIntBE(at, 3);
  }
  return false;
}
