import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '../load/connection.ts';
import type { ServedStub } from './served-stub.ts';

/** Connections made, code compiled. */
const WARM_UP_MS = 1500;

export interface LoopResult {
  readonly requestsPerSecond: number;
  readonly chunksPerSecond: number;
  /** CPU of the server over wall time: 1 is one core. */
  readonly cores: number;
  readonly requests: number;
  readonly chunks: number;
  readonly cpuMs: number;
  readonly meanMs: number;
}

/** As many clients as asked for, each with one request after another, for some seconds. Throws on any answer but 200. */
export async function closedLoop(
  stub: ServedStub,
  {
    request,
    clients,
    seconds,
  }: { readonly request: () => Buffer; readonly clients: number; readonly seconds: number },
): Promise<LoopResult> {
  const loop = startClients(stub.ports, { request, clients });
  try {
    await sleep(WARM_UP_MS);
    loop.reset();
    const cpu = stub.cpuMs();
    const from = performance.now();
    await sleep(seconds * 1000);
    const elapsedMs = performance.now() - from;
    const cpuMs = stub.cpuMs() - cpu;
    const { requests, chunks, latencyMs, failed } = loop.counts();
    if (failed !== undefined) throw new Error(`the stub answered ${failed}`);
    return {
      requestsPerSecond: (1000 * requests) / elapsedMs,
      chunksPerSecond: (1000 * chunks) / elapsedMs,
      cores: cpuMs / elapsedMs,
      requests,
      chunks,
      cpuMs,
      meanMs: latencyMs / requests,
    };
  } finally {
    loop.close();
  }
}

interface Counts {
  requests: number;
  chunks: number;
  latencyMs: number;
  failed: string | undefined;
}

function startClients(
  ports: readonly number[],
  { request, clients }: { readonly request: () => Buffer; readonly clients: number },
): { counts(): Counts; reset(): void; close(): void } {
  const nothing = (): Counts => ({ requests: 0, chunks: 0, latencyMs: 0, failed: undefined });
  let counts = nothing();
  const connections = Array.from(
    { length: clients },
    (_, index) => new Connection(ports[index % ports.length] as number),
  );
  const ask = (connection: Connection): void => {
    const from = performance.now();
    connection.send(request(), (reply) => {
      if (reply?.status !== 200) {
        counts.failed = reply === undefined ? 'nothing' : String(reply.status);
        return;
      }
      counts.requests += 1;
      counts.chunks += reply.pieces;
      counts.latencyMs += performance.now() - from;
      ask(connection);
    });
  };
  for (const connection of connections) ask(connection);
  return {
    counts: () => counts,
    reset: () => {
      counts = nothing();
    },
    close: () => {
      for (const connection of connections) connection.close();
    },
  };
}
