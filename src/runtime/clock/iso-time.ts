import type { Millis } from '../../framework/runtime.ts';

/** A wall-clock time, in milliseconds since the Unix epoch, as text. */
export function isoTime(epochMs: Millis): string {
  return new Date(epochMs).toISOString();
}

/** The wall-clock time that a text of that form says; NaN where it says none. */
export function epochMsOf(iso: string): Millis {
  return Date.parse(iso);
}
