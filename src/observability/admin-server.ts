import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Readiness {
  readonly ok: boolean;
  readonly detail: unknown;
}

export interface AdminServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly metricsPage: () => Promise<string>;
  readonly ready: () => Readiness;
  /** JSON documents by path, such as `/debug/endpoints`. */
  readonly documents: ReadonlyMap<string, () => unknown>;
}

export interface AdminServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A page takes milliseconds; whoever needs longer to read it is not Prometheus. */
const TIMEOUT_MS = 30_000;

/** Metrics, health and debugging state over plain HTTP, for reading only. */
export async function startAdminServer(options: AdminServerOptions): Promise<AdminServer> {
  const server = createServer(
    { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS },
    (request, response) => {
      answer(options, request, response).catch((error: unknown) => {
        json(response, 500, { error: error instanceof Error ? error.message : String(error) });
      });
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  { metricsPage, ready, documents }: AdminServerOptions,
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    json(response, 405, { error: `${method} is not allowed here: this port is for reading` });
    return;
  }
  const path = url.split('?', 1)[0] ?? '/';
  const document = documents.get(path);
  if (path === '/metrics') {
    const page = await metricsPage();
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(page);
  } else if (path === '/healthz') json(response, 200, { ok: true });
  else if (path === '/readyz') {
    const readiness = ready();
    json(response, readiness.ok ? 200 : 503, readiness);
  } else if (document !== undefined) json(response, 200, document());
  else
    json(response, 404, {
      error: `nothing at ${path}`,
      paths: ['/metrics', '/healthz', '/readyz', ...documents.keys()],
    });
}

function json(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent) return;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body, undefined, 2)}\n`);
}
