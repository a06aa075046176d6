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

/** The levels of the log, the most talkative first. */
export const LOG_LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** A log whose lowest level can be changed while it is written. */
export interface LevelledLog extends Log {
  /** One of `LOG_LEVELS`. */
  level: string;
}

/** JSON lines on stderr, as stdout is for results. `level` is the lowest that is written. */
export function createLog(level: string): LevelledLog {
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: WAITING_BYTES_MAX });
  // On a full disk, say. What waits is written with the next line that can be.
  stderr.on('error', () => undefined);
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stderr);
}

/** A wall-clock time in milliseconds since the Unix epoch as people read it. */
export function isoTime(epochMs: Millis): string {
  return new Date(epochMs).toISOString();
}
