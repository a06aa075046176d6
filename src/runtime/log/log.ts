import { constants, fstatSync, openSync } from 'node:fs';
import { pino } from 'pino';
import type { Millis } from '../../framework/runtime.ts';

type Write = (fields: object, message: string) => void;

/** Structured log: each call writes one line with these fields and a message. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** Bytes that wait while they cannot be written; further lines are left out. */
const WAITING_BYTES_MAX = 1024 * 1024;

const AGAIN_MS: Millis = 100;

/** The levels of the log, the one that has most lines first. */
export const LOG_LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** A log whose lowest level can be changed while it is written. */
export interface LevelledLog extends Log {
  /** One of `LOG_LEVELS`. */
  level: string;
}

/** JSON lines on stderr, as stdout is for results. `level` is the lowest that is written. */
export function createLog(level: string): LevelledLog {
  const stderr = pino.destination({
    dest: stderrDescriptor(),
    sync: true,
    maxLength: WAITING_BYTES_MAX,
    retryEAGAIN: () => false,
  });
  // A full disk or pipe, say.
  let again: NodeJS.Timeout | undefined;
  const tryAgain = (): void => {
    again = undefined;
    // Writes what waits.
    stderr.write('');
  };
  stderr.on('error', () => {
    again ??= setTimeout(tryAgain, AGAIN_MS).unref();
  });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stderr);
}

/**
 * Where stderr is a pipe, opened once more so that writing does not wait: a reader of the log may have
 * stopped, and a picker must not stop with it. A socket cannot be opened; Node's stream of it sets
 * it to not wait. Elsewhere, or without /proc, it is as it is.
 */
function stderrDescriptor(): number {
  try {
    const kind = fstatSync(2);
    if (kind.isSocket() && process.stderr.writable) return 2;
    if (!kind.isFIFO()) return 2;
    return openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return 2;
  }
}
