import { performance } from 'node:perf_hooks';
import type { Millis } from '../../framework/runtime.ts';

const WINDOW_MS: Millis = 250;
/** How much each window changes the share: half of what it says is from the last 250 ms. */
const NEWEST_SHARE = 0.5;

/** What Node counts of the event loop of this thread so far. */
export interface LoopTime {
  readonly idle: Millis;
  readonly active: Millis;
}

/**
 * The share of the time in which the event loop of this thread was not waiting for events: it
 * worked, or waited for a processor. Measured when it is asked for, from the first time on.
 */
export function measureBusyShare(
  loopTime: () => LoopTime = () => performance.eventLoopUtilization(),
  now: () => Millis = () => performance.now(),
): () => number {
  let share = 0;
  let last: LoopTime | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  return () => {
    const at = now();
    if (at - lastAt < WINDOW_MS) return share;
    const time = loopTime();
    if (last !== undefined) {
      const active = time.active - last.active;
      const both = active + time.idle - last.idle;
      if (both > 0) share += NEWEST_SHARE * (active / both - share);
    }
    last = time;
    lastAt = at;
    return share;
  };
}
