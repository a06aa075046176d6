import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { peerOf } from '../../../runtime/network/server/peer-of.ts';

/** Many more than gateways begin together; each takes about 60 KB. */
const HANDSHAKES_MAX = 1024;

/**
 * Ends handshakes that fail or last too long, which Node only reports. Beyond `handshakesMax` open
 * ones it ends the oldest: a client that begins many and ends none cannot keep out others, which
 * need milliseconds.
 */
export function boundHandshakes(server: Server, handshakesMax: number = HANDSHAKES_MAX): void {
  const open = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const from = peerOf(socket);
    open.set(from, socket);
    socket.once('close', () => {
      if (open.get(from) === socket) open.delete(from);
    });
    if (open.size <= handshakesMax) return;
    const [oldest] = open;
    if (oldest === undefined) return;
    open.delete(oldest[0]);
    oldest[1].destroy();
  });
  server.on('secureConnection', (socket) => void open.delete(peerOf(socket)));
  server.on('tlsClientError', (_error, socket: TLSSocket) => {
    open.delete(peerOf(socket));
    socket.destroy();
  });
}
