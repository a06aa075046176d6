import type { Millis } from '../../framework/runtime.ts';

/**
 * The difference of two wall times has a quarter of a microsecond of float error, which would stand
 * in converted traces as a dozen digits. No clock here is finer than this.
 */
export function wholeMicros(ms: Millis): Millis {
  return Math.round(ms * 1000) / 1000;
}
