import type { InFlightLoad } from '../framework/cycle-facts.ts';
import type { Millis } from '../framework/runtime.ts';

/**
 * How long one more request waits at a server that runs only so many requests at a time, until as
 * many of them have ended as are before it: 0 while it is not known that the server has such a
 * bound. Requests that run have all ages, so one ends in each part of the time that an answer takes.
 */
export function slotWaitMs(load: InFlightLoad, residenceMs: Millis): Millis {
  const { requests, runningMax } = load;
  if (runningMax === undefined || requests < runningMax) return 0;
  return ((requests + 1 - runningMax) / runningMax) * residenceMs;
}

/** Whether one more request waits there until another one has ended. */
export function waitsForSlot({ requests, runningMax }: InFlightLoad): boolean {
  return runningMax !== undefined && requests >= runningMax;
}
