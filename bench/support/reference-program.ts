import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { eventually } from './stack.ts';

/** How a reference picker is to find the model servers. */
export interface Found {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A reference picker that runs. */
export interface ReferenceProgram {
  readonly pid: number;
  readonly extProcPort: number;
  stop(): Promise<void>;
}

const STOP_MS = 5000;
const LOG_CHARS_SHOWN = 2000;

/**
 * Starts a program of the reference picker, without TLS, which ends with this process at the
 * latest. Resolves when it has all `servers`; throws an error with the end of its log where it
 * ends before, or does not have them within a minute.
 */
export async function startReferenceProgram(
  path: string,
  {
    found,
    servers,
    log: onLog,
  }: {
    readonly found: Found;
    readonly servers: number;
    /** Gets its log as it comes, in parts of one or several lines. */
    readonly log?: (text: string) => void;
  },
): Promise<ReferenceProgram> {
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
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  const stop = async (): Promise<void> => {
    await end(child);
    process.removeListener('exit', killNow);
  };
  let log = '';
  let hasEnded = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-LOG_CHARS_SHOWN);
    onLog?.(text.trimEnd());
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
  if (!ready) {
    await stop();
    throw new Error(`${path} does not have ${servers} model servers: ${log}`);
  }
  return { pid: child.pid ?? 0, extProcPort: grpc, stop };
}

async function end(child: ChildProcess): Promise<void> {
  const hasStarted = child.pid !== undefined;
  if (!hasStarted || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  // It may stand still.
  child.kill('SIGCONT');
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
