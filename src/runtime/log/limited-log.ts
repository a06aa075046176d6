import type { Clock, Millis } from '../../framework/runtime.ts';
import { type Rate, TokenBucket } from '../clock/token-bucket.ts';
import type { Log } from './log.ts';

interface Limit {
  since: Millis;
  /** Lines left out since then. */
  leftOut: number;
}

const WARNING_INTERVAL_MS: Millis = 60_000;

/**
 * Lets one line of each kind through in an interval. Kinds must be few: none may contain what a
 * client sent.
 */
export class LineLimit {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #intervalMs: Millis;
  readonly #limits = new Map<string, Limit>();

  constructor(clock: Pick<Clock, 'now'>, intervalMs: Millis) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** How many lines were left out before this one; undefined where this one is left out, too. */
  pass(kind: string): number | undefined {
    const now = this.#clock.now();
    const limit = this.#limits.get(kind);
    if (limit !== undefined && now - limit.since < this.#intervalMs) {
      limit.leftOut += 1;
      return undefined;
    }
    this.#limits.set(kind, { since: now, leftOut: 0 });
    return limit?.leftOut ?? 0;
  }
}

/**
 * Warns about what others do to the picker, at most once a minute for each message, so that they
 * cannot fill the log. The next line says how many were left out.
 */
export function limitedWarnings(
  log: Pick<Log, 'warn'>,
  clock: Pick<Clock, 'now'>,
): (fields: object, message: string) => void {
  const limit = new LineLimit(clock, WARNING_INTERVAL_MS);
  return (fields, message) => {
    const leftOut = limit.pass(message);
    if (leftOut === undefined) return;
    log.warn({ ...fields, ...(leftOut > 0 && { leftOut }) }, message);
  };
}

/** Lets lines of any kind through at this rate. The next line says how many were left out. */
export function limitedLines(
  write: (fields: object, message: string) => void,
  clock: Pick<Clock, 'now'>,
  rate: Rate,
): (fields: object, message: string) => void {
  const passing = new TokenBucket(clock, rate);
  let leftOut = 0;
  return (fields, message) => {
    if (!passing.take()) {
      leftOut += 1;
      return;
    }
    write({ ...fields, ...(leftOut > 0 && { leftOut }) }, message);
    leftOut = 0;
  };
}
