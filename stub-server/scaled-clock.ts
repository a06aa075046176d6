import type { Clock } from '../src/framework/runtime.ts';

/** Model time that runs `ratio` times as fast as the clock under it. */
export function scaledClock(clock: Clock, ratio: number): Clock {
  if (ratio === 1) return clock;
  const startedAt = clock.now();
  const wallStartedAt = clock.wallTime();
  return {
    now: () => (clock.now() - startedAt) * ratio,
    wallTime: () => wallStartedAt + (clock.now() - startedAt) * ratio,
    setTimer: (delay, callback) => clock.setTimer(delay / ratio, callback),
  };
}
