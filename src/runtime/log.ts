import { pino } from 'pino';
import type { Millis } from '../framework/runtime.ts';

type Write = (fields: object, message: string) => void;

/** Structured log: each call writes one line with these fields and a message. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/** JSON lines on stderr, as stdout is for results. `level` is the lowest that is written. */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** A wall-clock time in milliseconds since the Unix epoch as people read it. */
export function isoTime(epochMs: Millis): string {
  return new Date(epochMs).toISOString();
}
