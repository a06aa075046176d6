import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Child {
  readonly pid: number;
  /** The JSON document that it prints on stdout when it serves. */
  readonly said: unknown;
  /**
   * Stops the process (SIGSTOP) until `resume`, so that it uses no CPU while another is measured.
   */
  pause(): void;
  resume(): void;
  /** How many lines with this text it has printed on stdout so far. */
  linesWith(text: string): number;
  /** Sends SIGTERM, and SIGKILL if the process does not end in time. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Gets the lines of its stderr. */
  readonly log: (line: string) => void;
}

/** Notes something that has been started, and returns it. */
export type Keep = <T extends { stop(): Promise<void> }>(each: T) => T;

/**
 * Starts several things, of which `start` passes each to `keep`. `stop` of the result stops them,
 * the last one first; they are also stopped if `start` throws.
 */
export async function startTogether<T>(
  start: (keep: Keep) => Promise<T>,
): Promise<T & { stop(): Promise<void> }> {
  const started: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const each of started.toReversed()) await each.stop();
  };
  try {
    const result = await start((each) => {
      started.push(each);
      return each;
    });
    return { ...result, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const START_TIMEOUT_MS = 60_000;
const TERM_TIMEOUT_MS = 3_000;

/**
 * Starts a program and waits until it prints one line of JSON on stdout, which says where it
 * serves. Ends it at the latest with this process. Throws if it ends before or takes longer than a
 * minute.
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, command, args, env, log } = options;
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  const killNow = (): void => void child.kill('SIGKILL');
  process.once('exit', killNow);
  createInterface({ input: child.stderr }).on('line', (line) => log(`${name}: ${line}`));
  const lines: string[] = [];
  const stop = async (): Promise<void> => {
    await end(child, exited);
    process.removeListener('exit', killNow);
  };
  try {
    const said = await firstDocument(child, exited, { ...options, lines });
    return {
      pid: child.pid ?? 0,
      said,
      pause: () => void child.kill('SIGSTOP'),
      resume: () => void child.kill('SIGCONT'),
      linesWith: (text) => lines.filter((line) => line.includes(text)).length,
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
  { name, log, lines }: ChildOptions & { readonly lines: string[] },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () =>
        reject(new Error(`${name} did not print where it serves within ${START_TIMEOUT_MS} ms`)),
      START_TIMEOUT_MS,
    );
    void exited.then(() => {
      clearTimeout(timer);
      reject(new Error(`${name} ended before it served; run with --verbose to see why`));
    });
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Tracing flags of Node also print on stdout.
      if (!line.startsWith('{')) {
        lines.push(line);
        log(`${name}: ${line}`);
      } else {
        clearTimeout(timer);
        resolve(JSON.parse(line));
      }
    });
  });
}

async function end(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGCONT');
  // As by Ctrl-C: after SIGTERM a picker would first give gateways time to notice.
  child.kill('SIGINT');
  const timer = setTimeout(() => child.kill('SIGKILL'), TERM_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}
