import { createServer, type Server } from 'node:http';
import { z } from 'zod';
import { type FaultKind, faultSchema } from './faults/fault.ts';
import { ApiError } from './http/api-error.ts';
import { sendJson } from './http/generate.ts';
import { checked } from './http/read-generation.ts';
import type { Replica } from './http/replica.ts';
import { stateOf } from './http/state.ts';

/** A fault is a few fields. */
const BODY_BYTES_MAX = 64 * 1024;

const order = z.looseObject({ server: z.union([z.int().nonnegative(), z.literal('all')]) });

/**
 * One place to see and break a whole pool from: `GET /state`, `POST /faults` with a server's place or `all` beside the
 * fault, `DELETE /faults?server=…&kind=…`. The caller makes it listen.
 */
export function createControlServer(replicas: readonly Replica[]): Server {
  return createServer((request, response) => {
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
        sendJson(response, 200, answer(key, { url, body: Buffer.concat(chunks), replicas }));
      } catch (error) {
        const refusal =
          error instanceof ApiError
            ? error
            : new ApiError(400, error instanceof Error ? error.message : String(error));
        sendJson(response, refusal.status, refusal.body);
      }
    });
  });
}

function answer(
  key: string,
  {
    url,
    body,
    replicas,
  }: { readonly url: URL; readonly body: Buffer; readonly replicas: readonly Replica[] },
): object {
  switch (key) {
    case 'GET /state':
      break;
    case 'POST /faults': {
      const { server, ...fault } = checked(order, JSON.parse(body.toString('utf8')));
      const begun = checked(faultSchema, fault);
      for (const replica of chosen(replicas, String(server))) replica.faults.begin(begun);
      break;
    }
    case 'DELETE /faults': {
      const kind = (url.searchParams.get('kind') ?? undefined) as FaultKind | undefined;
      for (const replica of chosen(replicas, url.searchParams.get('server') ?? 'all')) {
        replica.faults.end(kind);
      }
      break;
    }
    default:
      throw new ApiError(404, 'GET /state, POST /faults and DELETE /faults is all there is');
  }
  return { servers: replicas.map(stateOf) };
}

function chosen(replicas: readonly Replica[], server: string): readonly Replica[] {
  if (server === 'all') return replicas;
  const ranks = replicas.filter((replica) => String(replica.server) === server);
  if (ranks.length > 0) return ranks;
  const last = replicas.at(-1)?.server ?? -1;
  throw new ApiError(404, `there is no server ${server}; the pool has ${last + 1}, counted from 0`);
}
