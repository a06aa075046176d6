import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { portOf } from '../../framework/values/server-address.ts';

interface RunEnvoyOptions {
  readonly binary: string;
  readonly configYaml: string;
  /** Receives Envoy's warnings and errors, line by line. */
  readonly log: (line: string) => void;
  /** Worker threads. */
  readonly concurrency?: number;
}

interface RunningEnvoy {
  readonly pid: number;
  readonly adminPort: number;
  /** Port of the first listener. */
  readonly listenerPort: number;
  /** Resolves when the process has ended for any reason. */
  readonly exited: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Startup takes 0.5 s, longer if the picker's health check runs into its timeout of 2 s, and much
 * longer on a machine with other work. An end is noticed at once.
 */
const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 25;
const TERM_TIMEOUT_MS = 2_000;
const LOG_LINE_CHARS_MAX = 2_000;

/**
 * A shell script that waits for the end of its input, which comes when this process ends. It
 * ignores Ctrl-C at a terminal, because this process may still need Envoy then.
 */
const GUARD_SCRIPT = 'trap "" INT HUP TERM; read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"';

/**
 * Runs Envoy and waits until it accepts requests. It ends with this process at the latest, even if
 * that is killed. Throws if it does not start. Envoy gets a dynamic base id, because the second of
 * two Envoys with the same id ends without an error message.
 */
export async function startEnvoy(options: RunEnvoyOptions): Promise<RunningEnvoy> {
  const { binary, configYaml, log, concurrency = 1 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'pointsman-envoy-'));
  const configPath = join(folder, 'envoy.yaml');
  const adminPath = join(folder, 'admin-address');
  await writeFile(configPath, configYaml);
  const flags = `--concurrency ${concurrency} --log-level warning --use-dynamic-base-id`.split(' ');
  const args = ['-c', configPath, '--admin-address-path', adminPath, ...flags];
  const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const lastLines = relay(child, log);
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  const killNow = (): void => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', killNow);
  if (child.pid !== undefined) void exited.then(guardProcess(child.pid, folder));
  const stop = async (): Promise<void> => {
    await endProcess(child, exited, TERM_TIMEOUT_MS);
    process.removeListener('exit', killNow);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const ports = await untilReady(child, adminPath);
    return { pid: child.pid ?? 0, ...ports, exited, stop };
  } catch (error) {
    await stop();
    const log = lastLines().join('\n');
    throw new Error(`Envoy did not start: ${String(error)}\n${log}`, { cause: error });
  }
}

/**
 * Kills a process and deletes its folder when this process is gone, even by SIGKILL, if there is a
 * POSIX shell. Returns a function that ends the guard, to be called when the process has ended.
 */
function guardProcess(pid: number, folder: string): () => void {
  const guard = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'pointsman-guard', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a shell, Envoy outlives this process only if this process is killed.
  guard.once('error', () => undefined);
  return () => void guard.kill('SIGKILL');
}

async function untilReady(
  child: ChildProcess,
  adminPath: string,
): Promise<{ readonly adminPort: number; readonly listenerPort: number }> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      throw new Error(`it ended with ${child.exitCode ?? child.signalCode ?? 'no process id'}`);
    }
    const admin = (await readFile(adminPath, 'utf8').catch(() => '')).trim();
    if (admin !== '' && (await statusOf(`http://${admin}/ready`)) === 200) {
      const listenerPort = await firstListenerPort(admin);
      if (listenerPort !== undefined) {
        return { adminPort: Number(portOf(admin)), listenerPort };
      }
    }
    await sleep(READY_POLL_MS);
  }
  throw new Error(`it was not ready after ${READY_TIMEOUT_MS} ms`);
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    const { statusCode, body } = await request(url);
    await body.dump();
    return statusCode;
  } catch {
    // It does not listen yet.
    return undefined;
  }
}

interface ListenersPage {
  readonly listener_statuses?: { local_address?: { socket_address?: { port_value?: number } } }[];
}

async function firstListenerPort(admin: string): Promise<number | undefined> {
  const { body } = await request(`http://${admin}/listeners?format=json`);
  const page = (await body.json()) as ListenersPage;
  return page.listener_statuses?.[0]?.local_address?.socket_address?.port_value;
}

/** Passes lines on to `log`. Returns a function for the last ten lines. */
function relay(child: ChildProcess, log: (line: string) => void): () => readonly string[] {
  const kept: string[] = [];
  let rest = '';
  child.stderr?.setEncoding('utf8');
  child.stderr?.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = (lines.pop() ?? '').slice(-LOG_LINE_CHARS_MAX);
    for (const line of lines) {
      kept.push(line.slice(0, LOG_LINE_CHARS_MAX));
      if (kept.length > 10) kept.shift();
      log(line);
    }
  });
  return () => kept;
}

/** Ends a process with SIGTERM, and with SIGKILL after the timeout. Resolves with `exited`. */
export async function endProcess(
  child: ChildProcess,
  exited: Promise<void>,
  timeoutMs: number,
): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await exited;
  clearTimeout(timer);
}
