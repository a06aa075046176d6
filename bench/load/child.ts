import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Child {
  readonly pid: number;
  /** The JSON document it prints on stdout, a line. */
  readonly said: unknown;
  /** Stops and continues it where it stands, so that it costs the other side of a comparison nothing. */
  pause(): void;
  resume(): void;
  /** SIGTERM, and SIGKILL when it does not go. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Lines of its stderr. */
  readonly log: (line: string) => void;
}

const START_TIMEOUT_MS = 20_000;
const TERM_TIMEOUT_MS = 3_000;

/** Starts a program that says on stdout, as one line of JSON, when and where it serves. It never outlives this process. */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, command, args, log } = options;
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  createInterface({ input: child.stderr }).on('line', (line) => log(`${name}: ${line}`));
  const stop = async (): Promise<void> => {
    await end(child, exited);
    process.removeListener('exit', killNow);
  };
  try {
    const said = await firstDocument(child, exited, options);
    return {
      pid: child.pid ?? 0,
      said,
      pause: () => void child.kill('SIGSTOP'),
      resume: () => void child.kill('SIGCONT'),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function firstDocument(
  child: ChildProcess,
  exited: Promise<void>,
  { name, log }: ChildOptions,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`${name} did not say where it serves within ${START_TIMEOUT_MS} ms`)),
      START_TIMEOUT_MS,
    );
    void exited.then(() => {
      clearTimeout(timer);
      reject(new Error(`${name} ended before it served; run with --verbose to see why`));
    });
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Tracing flags of Node print on stdout as well.
      if (!line.startsWith('{')) log(`${name}: ${line}`);
      else {
        clearTimeout(timer);
        resolve(JSON.parse(line));
      }
    });
  });
}

async function end(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGCONT');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), TERM_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
