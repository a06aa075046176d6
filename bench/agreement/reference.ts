import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServe } from '../../src/serve/serve.ts';
import type { KubernetesBinaries } from '../support/kubernetes-binaries.ts';
import { eventually, serveOptions } from '../support/stack.ts';
import { endpointsAsPod, endpointsInFile, type Found } from './endpoints-for.ts';

/** The picker in charge. */
export interface InCharge {
  readonly name: string;
  readonly extProcPort: number;
  stop(): Promise<void>;
}

/** A program of the reference picker. */
export interface Reference {
  readonly name: string;
  readonly path: string;
  /** An API server that it finds the model servers by; undefined: it reads them from a file. */
  readonly kubernetes?: KubernetesBinaries;
}

const STOP_MS = 5000;
const LOG_CHARS_SHOWN = 2000;

/** The reference picker where there is one; else another Pointsman in its place. */
export function startInCharge(
  { reference, standIn }: { readonly reference: Reference | undefined; readonly standIn: string },
  endpoints: readonly string[],
): Promise<InCharge> {
  return reference === undefined
    ? startStandIn(standIn, endpoints)
    : startReference(reference, endpoints);
}

async function startStandIn(config: string, endpoints: readonly string[]): Promise<InCharge> {
  const serving = await startServe(serveOptions({ endpoints, seed: 2 }, config));
  const { extProcPort } = serving;
  return { name: `another Pointsman with ${config}`, extProcPort, stop: () => serving.stop() };
}

async function startReference(
  { name, path, kubernetes }: Reference,
  endpoints: readonly string[],
): Promise<InCharge> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-agreement-'));
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const found =
      kubernetes === undefined
        ? endpointsInFile(folder, endpoints)
        : await endpointsAsPod(folder, endpoints, kubernetes);
    stops.push(() => found.stop());
    const extProcPort = await startProgram(path, { found, servers: endpoints.length, stops });
    return { name, extProcPort, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ProgramOptions {
  readonly found: Found;
  readonly servers: number;
  readonly stops: (() => unknown)[];
}

/** Returns its port for gateways when it has all model servers. */
async function startProgram(
  path: string,
  { found, servers, stops }: ProgramOptions,
): Promise<number> {
  const [grpc, health, metrics] = [await freePort(), await freePort(), await freePort()];
  const args = [
    ...found.args,
    `--grpc-port=${grpc}`,
    `--grpc-health-port=${health}`,
    `--metrics-port=${metrics}`,
    '--metrics-endpoint-auth=false',
    '--secure-serving=false',
  ];
  const env = { ...process.env, ...found.env };
  const child = spawn(path, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  stops.push(() => end(child));
  let log = '';
  let hasEnded = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_CHARS_SHOWN);
  });
  child.on('error', ({ message }) => {
    log += message;
    hasEnded = true;
  });
  // Not at its exit: some of its log may not have been read then.
  child.on('close', () => {
    hasEnded = true;
  });
  const isReady = async (): Promise<boolean> => (await serversOf(metrics)) === servers;
  const ready = await eventually(isReady, (yes) => yes || hasEnded).catch(() => false);
  if (!ready) throw new Error(`${path} does not have ${servers} model servers: ${log}`);
  return grpc;
}

async function end(child: ChildProcess): Promise<void> {
  const hasStarted = child.pid !== undefined;
  if (!hasStarted || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const killing = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(killing);
}

const READY = /^(?:llm_d_epp_ready_endpoints|inference_pool_ready_pods)\{[^}]*\} (\d+)/m;

/** How many endpoints its metrics page says are ready. */
async function serversOf(metricsPort: number): Promise<number> {
  try {
    const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(READY.exec(page)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
