import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ATTACKS, type Attack, type Question } from './attacks.ts';
import { pagedList, podOf, pool } from './cluster-objects.ts';

// An API server that answers as usual, or attacks as `GET /attack?name=…` says. A separate process,
// so that its CPU is not the picker's. Prints its port as JSON, and ends when its stdin closes.

let attack: Attack | undefined;
let questions = 0;
/** The port of all pods. */
let targetPort = 0;
const open = new Set<ServerResponse>();

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', 'http://localhost');
  if (url.pathname === '/attack') {
    const name = url.searchParams.get('name') ?? '';
    attack = ATTACKS[name];
    // What has begun would last as it was.
    for (const each of open) each.destroy();
    response.end(JSON.stringify({ questions }));
    questions = 0;
    return;
  }
  questions += 1;
  open.add(response);
  response.on('close', () => open.delete(response));
  response.on('error', () => undefined);
  const question: Question = { url, isWatch: url.searchParams.get('watch') === 'true' };
  if (attack?.(question, response) === true) return;
  answer(question, request, response);
});

function answer({ url, isWatch }: Question, _: IncomingMessage, response: ServerResponse): void {
  const { pathname } = url;
  const items = pathname.endsWith('/inferencepools')
    ? [pool(targetPort)]
    : pathname.endsWith('/pods')
      ? Array.from({ length: 8 }, (_each, at) => podOf(`pod-${at}`, `127.0.1.${at + 1}`))
      : undefined;
  if (items === undefined) {
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end('{"kind":"Status","code":404,"message":"not found"}');
    return;
  }
  response.writeHead(200, { 'content-type': 'application/json' });
  if (!isWatch) {
    response.end(JSON.stringify(pagedList(items)));
    return;
  }
  response.flushHeaders();
}

/** Serves the metrics page of all pods. */
const metrics = createServer((_, response) => {
  response.end(
    'vllm:num_requests_waiting{model_name="m"} 0\nvllm:num_requests_running{model_name="m"} 0\nvllm:kv_cache_usage_perc{model_name="m"} 0\n',
  );
});

metrics.listen(0, '0.0.0.0', () => {
  targetPort = (metrics.address() as AddressInfo).port;
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
  });
});
process.stdin.on('end', () => process.exit(0)).resume();
