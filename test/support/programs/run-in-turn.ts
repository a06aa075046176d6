import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { END_OF_RUN, type RunAsked } from './runs-in-turn.ts';

/**
 * The process behind `RunsInTurn`: runs the program whose path is the first argument, once for each
 * line of stdin. Its modules stay loaded, and its first one is evaluated again by another name.
 */

class Ended extends Error {
  readonly code: unknown;

  constructor(code: unknown) {
    super('the run has ended');
    this.code = code;
  }
}

/** Timers that the run has set: those of a process that has ended do not fire. */
const timers: NodeJS.Timeout[] = [];
for (const name of ['setTimeout', 'setInterval'] as const) {
  const set = globalThis[name] as (...args: readonly unknown[]) => NodeJS.Timeout;
  const remembering = (...args: readonly unknown[]): NodeJS.Timeout => {
    const timer = set(...args);
    timers.push(timer);
    return timer;
  };
  globalThis[name] = Object.assign(remembering, set) as never;
}

/** What a program that serves listens to until it ends: the next one must be alone with it. */
const ENDS = ['SIGINT', 'SIGTERM', 'uncaughtException', 'unhandledRejection'] as const;

const [, , path = ''] = process.argv;
process.exit = (code) => {
  throw new Ended(code ?? process.exitCode);
};

/** Evaluates the program, and resolves with the exit code; not while it serves. */
async function codeOf(number: number): Promise<unknown> {
  try {
    await import(`${pathToFileURL(path).href}?run=${number}`);
    return process.exitCode;
  } catch (error) {
    if (error instanceof Ended) return error.code;
    process.stderr.write(`${String(error)}\n`);
    return 1;
  }
}

// Each run listens to them.
for (const each of [process, process.stdout, process.stderr]) each.setMaxListeners(0);
const given = { ...process.env };
let runs = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { args, env } = JSON.parse(line) as RunAsked;
  process.argv = [process.execPath, path, ...args];
  process.env = { ...given, ...env };
  process.exitCode = 0;
  runs += 1;
  timers.length = 0;
  void codeOf(runs).then((code) => {
    for (const timer of timers) clearTimeout(timer);
    for (const name of ENDS) process.removeAllListeners(name);
    for (const stream of [process.stdout, process.stderr])
      stream.write(`${END_OF_RUN}${String(code)}\n`);
  });
}
