import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../src/framework/error.ts';
import { pythonWith } from './python-with.ts';

const run = promisify(execFile);

const EXAMPLES = join(dirname(dirname(import.meta.dirname)), 'deploy/examples/schedulers');
/** A fixed version of what `pip install grpcio` installs. */
const GRPCIO = 'grpcio==1.85.1';
const INSTALL_MS = 300_000;

export type ExampleName = 'typescript' | 'python' | 'python-prefix' | 'go';

export interface RunningScheduler {
  /** `unix:/path`. */
  readonly address: string;
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

/** The command that starts an example, installed outside the tree; or why it cannot run. */
export async function exampleCommand(
  name: ExampleName,
  log: (line: string) => void,
): Promise<readonly string[] | { readonly unavailable: string }> {
  try {
    switch (name) {
      case 'typescript':
        return [process.execPath, join(EXAMPLES, 'typescript/least-loaded.ts')];
      case 'python':
        return [await pythonWith([GRPCIO], log), join(EXAMPLES, 'python/least_loaded.py')];
      case 'python-prefix':
        return [await pythonWith([GRPCIO], log), join(EXAMPLES, 'python/prefix_aware.py')];
      case 'go':
        return [await goBinary(log)];
    }
  } catch (error) {
    const why = messageOf(error);
    return { unavailable: `the example scheduler ${name} cannot be run: ${why.slice(0, 1000)}` };
  }
}

/** See `exampleCommand`. Where there is none, tests are skipped, except in CI, where it throws. */
export async function exampleOrSkip(name: ExampleName): Promise<readonly string[] | undefined> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const command = await exampleCommand(name, log);
  if (!('unavailable' in command)) return command;
  // CI machines need not have Go.
  if (process.env['CI'] !== undefined && name !== 'go') throw new Error(command.unavailable);
  log(`SKIPPED: all tests of this example. ${command.unavailable}`);
  return undefined;
}

/** Starts an example on a new socket and waits until it listens. */
export async function startScheduler(
  [program = '', ...args]: readonly string[],
  at?: string,
): Promise<RunningScheduler> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-scheduler-'));
  const address = at ?? `unix:${join(folder, 'socket')}`;
  const child = spawn(program, [...args, address], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await Promise.race([
    new Promise((resolve) => child.stdout.once('data', resolve)),
    exited.then(() => Promise.reject(new Error(`${program} ended before it listened`))),
  ]);
  return {
    address,
    process: child,
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function goBinary(log: (line: string) => void): Promise<string> {
  const source = join(EXAMPLES, 'go');
  log('building the Go example');
  const made = mkdtempSync(join(tmpdir(), 'pointsman-go-'));
  const binary = join(made, 'least-loaded');
  await run('go', ['build', '-o', binary, '.'], { cwd: source, timeout: INSTALL_MS });
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  return binary;
}
