import { type ChildProcess, spawn } from 'node:child_process';
import { programFile } from '../../files/folders.ts';
import { ConfigError } from '../../framework/error.ts';
import { ENDS_WITH_PARENT } from '../../runtime/process/process-end.ts';
import { endProcess } from '../envoy/run-envoy.ts';

export interface ChildCommand {
  readonly pid: number;
  /** The JSON document that it printed once it was up. */
  readonly document: unknown;
  stop(): Promise<void>;
}

/** A machine with much other work may need most of it; an end is noticed at once. */
const START_TIMEOUT_MS = 60_000;
const TERM_TIMEOUT_MS = 3_000;
const STDERR_CHARS_KEPT = 4_000;

/**
 * Runs a command of this package (`serve`, `stub`) as a process of its own, so that it has its own
 * event loop, and waits for the line of JSON that it prints once it is up. It ends with this
 * process at the latest, even if that is killed. Throws ConfigError with its output if it does not
 * start.
 */
export async function startChildCommand(args: readonly string[]): Promise<ChildCommand> {
  const child = spawn(process.execPath, [programFile('src/main'), ...args], {
    // The channel carries nothing: the child sees it close when this process ends.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, [ENDS_WITH_PARENT]: '1' },
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARS_KEPT);
  });
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', killNow);
    await endProcess(child, exited, TERM_TIMEOUT_MS);
  };
  const line = await firstLineOf(child, exited);
  if (line === undefined) {
    await stop();
    const message = `did not start:\n${stderr.trimEnd()}`;
    throw new ConfigError('demo', [{ path: `pointsman ${args[0] ?? ''}`, message }]);
  }
  return { pid: child.pid ?? 0, document: JSON.parse(line), stop };
}

/** The first line on stdout; undefined if none comes in time. */
function firstLineOf(child: ChildProcess, exited: Promise<void>): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => resolve(undefined), START_TIMEOUT_MS);
    const settle = (value: string | undefined): void => {
      clearTimeout(timer);
      child.stdout?.removeAllListeners('data').resume();
      resolve(value);
    };
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) settle(text.slice(0, end));
    });
    void exited.then(() => settle(undefined));
  });
}
