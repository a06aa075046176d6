import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { eventually } from '../../bench/support/stack.ts';
import { PROGRAM } from '../support/programs/program.ts';

/**
 * Pickers, sidecars and model servers as processes, started by the command lines of llm-d's
 * programs. Environment variables name programs that take the places of ours.
 */

export const PICKER = 'POINTSMAN_REFERENCE_EPP';
export const SIDECAR = 'POINTSMAN_REFERENCE_SIDECAR';
export const SIMULATOR = 'POINTSMAN_REFERENCE_SIM';

export interface Program {
  readonly child: ChildProcess;
  /** All that it has logged. */
  readonly log: readonly string[];
  /** The JSON document on its first line; only our programs write one. */
  readonly document: Promise<unknown>;
  kill(): Promise<void>;
}

/** Whether another program takes the place of ours. */
export function isReplaced(variable: string): boolean {
  return (process.env[variable] ?? '') !== '';
}

/** Starts the program that the variable names, or else ours with `ownArgs` beside the others. */
export function startProgram(
  variable: string,
  args: readonly string[],
  ownArgs: readonly string[] = ['--json'],
): Program {
  const program = process.env[variable] ?? '';
  const [command, all] =
    program === '' ? [process.execPath, [PROGRAM, ...args, ...ownArgs]] : [program, [...args]];
  return spawnProgram(command, all);
}

/** Starts a program with these variables beside those of the environment. It ends with the test. */
export function spawnProgram(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Program {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = once(child, 'exit').then(() => void process.off('exit', kill));
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => void log.push(line));
  const document = Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(
      ([line]) => JSON.parse(line as string) as unknown,
    ),
    exited.then(() => {
      throw new Error(`${command} has ended: ${log.join('\n')}`);
    }),
  ]);
  document.catch(() => undefined);
  return {
    child,
    log,
    document,
    kill: async () => {
      kill();
      await exited;
    },
  };
}

/** A port that is free now. For programs that do not say which free port they have taken. */
export function freePort(): Promise<number> {
  return freePorts(1);
}

/** The first of consecutive ports that are free now. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = await reserve(0);
    const others = Array.from({ length: count - 1 }, (_, index) => reserve(first.port + 1 + index));
    const taken = await Promise.allSettled(others);
    for (const each of [{ status: 'fulfilled', value: first } as const, ...taken]) {
      if (each.status === 'fulfilled') await each.value.release();
    }
    if (taken.every(({ status }) => status === 'fulfilled')) return first.port;
  }
}

async function reserve(
  wanted: number,
): Promise<{ readonly port: number; release(): Promise<unknown> }> {
  const server = createServer().listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return { port, release: () => new Promise((resolve) => void server.close(resolve)) };
}

/** Waits until a server answers a GET with this status. */
export async function answers(url: string, status = 200): Promise<void> {
  const ask = (): Promise<number> =>
    fetch(url).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
  await eventually(ask, (answer) => answer === status);
}
