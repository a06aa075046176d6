import type { Server } from 'node:http';
import { z } from 'zod';
import { messageOf } from '../src/framework/error.ts';
import { http } from '../src/runtime/network/server/node-http.ts';
import { faultKind, faultSchema } from './faults/fault.ts';
import { ApiError, parseBody, sendError, sendJson } from './http/replica/api-error.ts';
import { type StubReplica, stateOf } from './http/replica/stub-replica.ts';

/** Enough for a fault, which has a few fields. */
const BODY_BYTES_MAX = 64 * 1024;

const SERVER = 'must be the number of a server, from 0, or "all"';
const faultRequest = z.looseObject({
  server: z.union([z.int().nonnegative(), z.literal('all')], SERVER),
});

/**
 * Creates a server that shows the state of a whole pool and sets its faults: `GET /state`, `POST
 * /faults` with a fault and `server`, `DELETE /faults?server=…&kind=…`. `server` is an index in the
 * pool or `all`. The caller makes it listen.
 */
export function createControlServer(replicas: readonly StubReplica[]): Server {
  return http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else request.destroy();
    });
    request.on('end', () => {
      try {
        const url = new URL(request.url ?? '/', 'http://control');
        const key = `${request.method ?? 'GET'} ${url.pathname}`;
        change(replicas, key, { query: url.searchParams, body: Buffer.concat(chunks) });
        sendJson(response, 200, { servers: replicas.map(stateOf) });
      } catch (error) {
        sendError(response, error, 400);
      }
    });
  });
}

function change(
  replicas: readonly StubReplica[],
  key: string,
  { query, body }: { readonly query: URLSearchParams; readonly body: Buffer },
): void {
  switch (key) {
    case 'GET /state':
      return;
    case 'POST /faults': {
      const { server, ...raw } = parseBody(faultRequest, jsonOf(body));
      const fault = parseBody(faultSchema, raw);
      for (const { faults } of selected(replicas, String(server))) faults.begin(fault);
      return;
    }
    case 'DELETE /faults': {
      const kind = query.has('kind') ? faultKind(query.get('kind') ?? '') : undefined;
      for (const { faults } of selected(replicas, query.get('server') ?? 'all')) faults.end(kind);
      return;
    }
    default:
      throw new ApiError(404, 'GET /state, POST /faults and DELETE /faults is all there is');
  }
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new ApiError(400, `the body is not JSON: ${messageOf(error)}`);
  }
}

function selected(replicas: readonly StubReplica[], server: string): readonly StubReplica[] {
  if (server === 'all') return replicas;
  const ranks = replicas.filter((replica) => String(replica.server) === server);
  if (ranks.length > 0) return ranks;
  const last = replicas.at(-1)?.server ?? -1;
  throw new ApiError(404, `there is no server ${server}; the pool has ${last + 1}, counted from 0`);
}
