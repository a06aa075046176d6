import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { peerOf } from './peer-of.ts';

export interface ConnectionBounds {
  readonly connectionsMax: number;
  /** Whether the process can open further files, so that the next connection can be accepted. */
  readonly hasSpareFiles: () => boolean;
}

interface Connection {
  readonly socket: Socket;
  openRequests: number;
}

/** Some systems give a file back a moment after its connection has ended. */
const ENDED_MAX = 4;

/**
 * Bounds the connections of a server. Beyond the bound, and where the process can open hardly any
 * more files, it ends the one that has had no request for longest: a client that holds connections
 * does not keep others out, and no request is cut.
 */
export class BoundConnections {
  readonly #bounds: ConnectionBounds;
  readonly #all = new Map<string, Connection>();
  /** Connections without a request, in the order in which they have become so. */
  readonly #idle = new Map<string, Connection>();

  constructor(server: Server, bounds: ConnectionBounds) {
    this.#bounds = bounds;
    server.on('connection', (socket: Socket) => {
      const from = peerOf(socket);
      const connection = { socket, openRequests: 0 };
      this.#all.set(from, connection);
      this.#idle.set(from, connection);
      socket.once('close', () => {
        if (this.#all.get(from) === connection) this.#forget(from);
      });
      if (this.#all.size > bounds.connectionsMax) this.#endLongestIdle();
      this.makeRoom();
    });
  }

  /** Ends a few connections without a request where hardly any more files can be opened. */
  makeRoom(): void {
    for (let ended = 0; ended < ENDED_MAX && !this.#bounds.hasSpareFiles(); ended++)
      this.#endLongestIdle();
  }

  /** A request has begun. Returns what to call once when it is answered. */
  begin(socket: Socket): () => void {
    const from = peerOf(socket);
    const connection = this.#all.get(from);
    if (connection === undefined) return () => undefined;
    connection.openRequests += 1;
    this.#idle.delete(from);
    return () => {
      connection.openRequests -= 1;
      const isOpen = this.#all.get(from) === connection;
      if (isOpen && connection.openRequests === 0) this.#idle.set(from, connection);
    };
  }

  #endLongestIdle(): void {
    const [longest] = this.#idle;
    if (longest === undefined) return;
    this.#forget(longest[0]);
    longest[1].socket.destroy();
  }

  #forget(from: string): void {
    this.#all.delete(from);
    this.#idle.delete(from);
  }
}
