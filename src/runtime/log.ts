import { type Logger, pino } from 'pino';

export type Log = Logger;

/** JSON lines on stderr, so that stdout stays for results. */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
