import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Millis } from '../../framework/runtime.ts';

/** How late the event loop was since the last look. */
export interface LoopDelay {
  readonly p99Ms: Millis;
  readonly maxMs: Millis;
}

const RESOLUTION_MS = 10;

/** Measures how late timers of this thread fire. `read` starts the measurement again. */
export function measureLoopDelay(): { read(): LoopDelay; stop(): void } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  // What it counts is the time between two firings: the interval and the delay.
  const delayOf = (nanoseconds: number): Millis => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  return {
    read: () => {
      const { max } = histogram;
      const delay = { p99Ms: delayOf(histogram.percentile(99)), maxMs: delayOf(max) };
      histogram.reset();
      return delay;
    },
    stop: () => void histogram.disable(),
  };
}
