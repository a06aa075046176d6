import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that a test answers by hand. */
export interface Visit {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly response: ServerResponse;
  /** Resolves when the connection is closed or the answer has been sent. */
  readonly closed: Promise<void>;
}

export interface ScriptedServer {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** How many requests have arrived whole. */
  readonly visits: number;
  /** The next request that has arrived whole, in order. */
  next(): Promise<Visit>;
  stop(): Promise<void>;
}

/** A server that answers only what the test says. */
export async function startScriptedServer(): Promise<ScriptedServer> {
  const waiting: Visit[] = [];
  const asked: ((visit: Visit) => void)[] = [];
  let visits = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    const closed = new Promise<void>((resolve) => void response.once('close', resolve));
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      visits += 1;
      const { headers, url = '' } = request;
      const body = Buffer.concat(chunks).toString('utf8');
      const visit = { path: url, headers, body, response, closed };
      const ask = asked.shift();
      if (ask === undefined) waiting.push(visit);
      else ask(visit);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get visits() {
      return visits;
    },
    next: () => {
      const visit = waiting.shift();
      if (visit !== undefined) return Promise.resolve(visit);
      return new Promise((resolve) => void asked.push(resolve));
    },
    stop: async () => {
      const ended = new Promise((resolve) => void server.close(resolve));
      server.closeAllConnections();
      await ended;
    },
  };
}
