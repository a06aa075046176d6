import { performance } from 'node:perf_hooks';
import type { Clock } from '../framework/runtime.ts';

/** The machine's own time. */
export function nodeClock(): Clock {
  return {
    now: () => performance.now(),
    wallTime: () => Date.now(),
    setTimer(delay, callback) {
      const timer = setTimeout(callback, Math.max(0, delay));
      // What is only waiting must not keep the process from ending.
      timer.unref();
      return { cancel: () => clearTimeout(timer) };
    },
  };
}
