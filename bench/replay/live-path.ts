import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { z } from 'zod';
import { startChildCommand } from '../../src/lab/demo/child-command.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';

export interface LivePath {
  /** Where Envoy listens. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface LivePathOptions {
  /** Envoy's binary. */
  readonly envoy: string;
  /** A pool file of stubs. */
  readonly pool: string;
  /** A configuration of the picker. */
  readonly config: string;
  readonly seed: number;
}

const READY_TIMEOUT_MS = 10_000;
const READY_POLL_MS = 20;
const stubDocument = z.object({ endpoints: z.array(z.string()).min(1) });
const serveDocument = z.object({ extProcPort: z.int(), metricsPort: z.int() });

/** Stubs in real time, the picker and Envoy, each a process of its own and with nothing in its memory. */
export async function startLivePath({
  envoy,
  pool,
  config,
  seed,
}: LivePathOptions): Promise<LivePath> {
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  };
  try {
    const stubs = await startChildCommand(['stub', '--pool', pool, '--json']);
    cleanups.push(() => stubs.stop());
    const { endpoints } = stubDocument.parse(stubs.document);
    const how = ['--config', config, '--endpoints', endpoints.join(','), '--seed', String(seed)];
    const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
    const rest = ['--insecure', '--drain-timeout-ms', '500', '--log-level', 'warn', '--json'];
    const picker = await startChildCommand(['serve', ...how, ...ports, ...rest]);
    cleanups.push(() => picker.stop());
    const { extProcPort, metricsPort } = serveDocument.parse(picker.document);
    await untilReady(`http://127.0.0.1:${metricsPort}/readyz`);
    const extProcAddress = `127.0.0.1:${extProcPort}`;
    const configYaml = renderEnvoyConfig({ wiring: 'envoy', listenerPort: 0, extProcAddress });
    const proxy = await startEnvoy({ binary: envoy, configYaml, log: () => undefined });
    cleanups.push(() => proxy.stop());
    return { url: `http://127.0.0.1:${proxy.listenerPort}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const { statusCode, body } = await request(url);
    await body.dump();
    if (statusCode === 200) return;
    await sleep(READY_POLL_MS);
  }
  throw new Error(`the picker was not ready after ${READY_TIMEOUT_MS} ms: ${url}`);
}
