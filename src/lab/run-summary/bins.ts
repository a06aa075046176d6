import type { Millis } from '../../framework/runtime.ts';

/** Spans of time that a run is drawn in. */
export const BINS = 48;

/** The length of a span, where the last request comes at `lastMs`. */
export function binLength(lastMs: Millis): Millis {
  return Math.max(1, (lastMs + 1) / BINS);
}

/** The span that a time is in. */
export function binOf(atMs: Millis, binMs: Millis): number {
  return Math.min(BINS - 1, Math.floor(atMs / binMs));
}
