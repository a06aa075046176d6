import type { Millis } from '../../framework/runtime.ts';
import type { TraceRequest } from '../../lab/traces/trace.ts';

/** When requests arrive. Seconds and minutes count from the first arrival. */
export interface ArrivalTimes {
  readonly perSecond: number;
  /** Requests in the fullest second, and in the fullest minute where the trace is longer. */
  readonly mostInASecond: number;
  readonly mostInAMinute: number | undefined;
  /** The share of the seconds in which none arrives. */
  readonly emptySeconds: number;
  /** Between two arrivals that follow one another, and when it begins. */
  readonly longestPauseMs: Millis;
  readonly longestPauseAtMs: Millis;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;

/** Undefined where all arrive at once. */
export function arrivalTimesOf(requests: readonly TraceRequest[]): ArrivalTimes | undefined {
  const firstMs = requests[0]?.atMs ?? 0;
  const spanMs = (requests.at(-1)?.atMs ?? 0) - firstMs;
  if (spanMs === 0) return undefined;
  const times = requests.map(({ atMs }) => atMs - firstMs);
  const seconds = fullest(times, SECOND_MS);
  let [longestPauseMs, longestPauseAtMs] = [0, 0];
  times.forEach((atMs, index) => {
    const before = times[index - 1] ?? atMs;
    if (atMs - before > longestPauseMs)
      [longestPauseMs, longestPauseAtMs] = [atMs - before, before];
  });
  return {
    perSecond: (SECOND_MS * times.length) / spanMs,
    mostInASecond: seconds.most,
    mostInAMinute: spanMs > MINUTE_MS ? fullest(times, MINUTE_MS).most : undefined,
    emptySeconds: 1 - seconds.used / (Math.floor(spanMs / SECOND_MS) + 1),
    longestPauseMs,
    longestPauseAtMs,
  };
}

/** How many arrive in the fullest window, and in how many windows any does. Times rise. */
function fullest(times: readonly Millis[], windowMs: Millis): { most: number; used: number } {
  let [window, here, most, used] = [-1, 0, 0, 0];
  for (const atMs of times) {
    const at = Math.floor(atMs / windowMs);
    if (at !== window) [window, here, used] = [at, 0, used + 1];
    here += 1;
    most = Math.max(most, here);
  }
  return { most, used };
}
