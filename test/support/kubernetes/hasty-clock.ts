import type { Clock } from '../../../src/framework/runtime.ts';
import { nodeClock } from '../../../src/runtime/clock/node-clock.ts';

/** What is waited for so long is not waited for in these tests, unless the machine is busy. */
const LIMIT_MS = 60_000;

/**
 * A real clock whose shorter timers fire sixty times sooner: the source looks again every half
 * second.
 */
export function hastyClock(): Clock {
  const clock = nodeClock();
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    setTimer: (delay, callback) => clock.setTimer(delay < LIMIT_MS ? delay / 60 : delay, callback),
  };
}
