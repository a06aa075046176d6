import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/**
 * undici reads on through all bytes that it has got when headers are longer than it allows, and makes
 * an error for each further one.
 */
const READ_BYTES_MAX = 16 * 1024;

interface Connected {
  readonly connectParams: { readonly protocol: string; readonly host: string };
  readonly socket: Socket;
}

/** Protocol and host of each origin. */
const readInPieces = new Set<string>();

/**
 * From now on undici, any copy of it, gets at most `READ_BYTES_MAX` at once of what this server
 * sends. It is for clients whose connections others make: Kubernetes' makes those to API servers.
 */
export function readSmallPieces({ protocol, host }: URL): void {
  if (readInPieces.size === 0) {
    subscribe('undici:client:connected', (message) => {
      const { connectParams, socket } = message as Connected;
      const origin = `${connectParams.protocol}//${connectParams.host}`;
      if (readInPieces.has(origin)) limitReads(socket);
    });
  }
  readInPieces.add(`${protocol}//${host}`);
}

/** Nothing more is read once it is destroyed. */
export function limitReads(socket: Socket): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    if (socket.destroyed) return null;
    const isLong = size === undefined && socket.readableLength > READ_BYTES_MAX;
    return read(isLong ? READ_BYTES_MAX : size);
  };
}
