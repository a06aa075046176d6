import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { z } from 'zod';
import { renderEnvoyConfig } from '../envoy/render-config.ts';
import { startEnvoy } from '../envoy/run-envoy.ts';
import { startChildCommand } from './child-command.ts';

/** Model servers with a picker and a gateway in front of them. */
interface LivePath {
  /** Where the gateway listens. */
  readonly url: string;
  /** The `host:port` of each stub. */
  readonly endpoints: readonly string[];
  stop(): Promise<void>;
}

interface LivePathOptions {
  /** Options of `pointsman stub`, such as its number of servers. */
  readonly stubArgs: readonly string[];
  /** The picker's configuration: a name or a file. */
  readonly config: string;
  readonly seed: number;
  /** Path of Envoy's binary. Without it the embedded gateway takes Envoy's place. */
  readonly envoy: string | undefined;
  readonly signal?: AbortSignal;
}

const READY_TIMEOUT_MS = 10_000;
const READY_POLL_MS = 20;
const stubDocument = z.object({ endpoints: z.array(z.string()).min(1) });
const gatewayDocument = z.object({ port: z.int() });
const serveDocument = z.object({ extProcPort: z.int(), metricsPort: z.int() });

/**
 * Starts stubs in real time, the picker, and Envoy or the embedded gateway, each as a process of
 * its own with empty state. Throws, with everything stopped again, if one of them does not start.
 */
export async function startLivePath(options: LivePathOptions): Promise<LivePath> {
  const cleanups: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  };
  try {
    return { ...(await startAll(options, cleanups)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(
  { stubArgs, config, seed, envoy, signal }: LivePathOptions,
  cleanups: (() => Promise<void>)[],
): Promise<Omit<LivePath, 'stop'>> {
  const start = async (args: readonly string[]): Promise<unknown> => {
    signal?.throwIfAborted();
    const child = await startChildCommand([...args, '--json']);
    cleanups.push(() => child.stop());
    return child.document;
  };
  const { endpoints } = stubDocument.parse(await start(['stub', ...stubArgs]));
  const policy = ['--config', config, '--endpoints', endpoints.join(','), '--seed', String(seed)];
  const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
  const rest = [
    '--insecure',
    '--drain-notice-ms',
    '0',
    '--drain-timeout-ms',
    '500',
    '--log-level',
    'warn',
  ];
  const picker = serveDocument.parse(await start(['serve', ...policy, ...ports, ...rest]));
  await untilReady(`http://127.0.0.1:${picker.metricsPort}/readyz`, signal);
  const extProcAddress = `127.0.0.1:${picker.extProcPort}`;
  if (envoy === undefined) {
    const where = ['--host', '127.0.0.1', '--port', '0', '--picker', extProcAddress];
    const { port } = gatewayDocument.parse(await start(['gateway', ...where, '--insecure']));
    return { url: `http://127.0.0.1:${port}`, endpoints };
  }
  const configYaml = renderEnvoyConfig({ wiring: 'envoy', listenerPort: 0, extProcAddress });
  const proxy = await startEnvoy({ binary: envoy, configYaml, log: () => undefined });
  cleanups.push(() => proxy.stop());
  return { url: `http://127.0.0.1:${proxy.listenerPort}`, endpoints };
}

async function untilReady(url: string, signal: AbortSignal | undefined): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const { statusCode, body } = await request(url, { signal: signal ?? null });
    await body.dump();
    if (statusCode === 200) return;
    await sleep(READY_POLL_MS, undefined, signal && { signal });
  }
  throw new Error(`the picker was not ready after ${READY_TIMEOUT_MS} ms: ${url}`);
}
