import { type ChildProcess, spawn } from 'node:child_process';
import { request } from 'undici';

export interface EnvoyOptions {
  readonly binary: string;
  /** YAML text. */
  readonly config: string;
  readonly adminPort: number;
  /** Worker threads. */
  readonly concurrency?: number;
}

export interface RunningEnvoy {
  readonly pid: number;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 20_000;
const POLL_MS = 50;
/** Of Envoy's own words kept to tell why it did not start. */
const OUTPUT_MAX = 8000;

/** Starts Envoy and waits until it serves. It is stopped by its own process id, also when this process exits. */
export async function startEnvoy(options: EnvoyOptions): Promise<RunningEnvoy> {
  const { binary, config, adminPort, concurrency = 1 } = options;
  const child = spawn(
    binary,
    ['--config-yaml', config, '--use-dynamic-base-id', '--concurrency', String(concurrency), '--log-level', 'warning'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-OUTPUT_MAX);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', onExit);
    await ended(child);
  };
  for (let waitedMs = 0; !(await isReady(adminPort)); waitedMs += POLL_MS) {
    if (child.exitCode !== null || child.pid === undefined || waitedMs > READY_TIMEOUT_MS) {
      await stop();
      throw new Error(`Envoy did not start (exit code ${child.exitCode}): ${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return { pid: child.pid ?? 0, stop };
}

async function isReady(adminPort: number): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://127.0.0.1:${adminPort}/ready`);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}
