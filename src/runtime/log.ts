import { pino } from 'pino';

type Write = (fields: object, message: string) => void;

/** Structured log: each call writes one line with these fields and a message. */
export interface Log {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
}

/**
 * JSON lines on stderr, as stdout is for results. `level` is one of pino's: lines below it are left
 * out.
 */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
