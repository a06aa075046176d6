import type { Millis } from '../framework/runtime.ts';

/** If a shadow does not answer within this time, it hangs or the machine is too busy for it. */
export const ANSWER_MS: Millis = 30_000;
/** Eight threads take long to load on a busy machine. */
const BEGIN_MS: Millis = 60_000;
const BEGIN_MS_MAX: Millis = 480_000;
/** The wait before a restart. */
const RESTART_MS: Millis = 1000;
const RESTART_MS_MAX: Millis = 60_000;

/**
 * How long a shadow that was restarted so often may take to begin. The time doubles, because a
 * thread that is ended while it loads has to load all of it again.
 */
export function beginMs(restarts: number): Millis {
  return doubled(BEGIN_MS, restarts, BEGIN_MS_MAX);
}

/** The wait before it is started again. */
export function restartWaitMs(restarts: number): Millis {
  return doubled(RESTART_MS, restarts, RESTART_MS_MAX);
}

function doubled(first: Millis, times: number, max: Millis): Millis {
  return Math.min(max, first * 2 ** Math.min(times, 10));
}
