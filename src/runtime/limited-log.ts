import type { Clock, Millis } from '../framework/runtime.ts';
import type { Log } from './log.ts';

interface Limit {
  since: Millis;
  /** Lines left out since then. */
  leftOut: number;
}

const INTERVAL_MS = 60_000;

/**
 * Warns about what others do to the picker, at most once a minute for each message, so that they
 * cannot fill the log. The next line says how many were left out. Messages must be few: none may
 * contain what a client sent.
 */
export function limitedWarnings(log: Log, clock: Clock): (fields: object, message: string) => void {
  const limits = new Map<string, Limit>();
  return (fields, message) => {
    const now = clock.now();
    const limit = limits.get(message);
    if (limit !== undefined && now - limit.since < INTERVAL_MS) {
      limit.leftOut += 1;
      return;
    }
    limits.set(message, { since: now, leftOut: 0 });
    log.warn({ ...fields, ...(limit?.leftOut && { leftOut: limit.leftOut }) }, message);
  };
}
