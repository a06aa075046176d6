import type { Millis } from '../../framework/runtime.ts';

/**
 * Calls back once `limitMs` have passed, a turn of the event loop later: what came while this
 * process stood still is read first. The callback has to check whether it is still needed, because
 * `clearTimeout` has no effect within that turn. The timer does not keep the process alive.
 */
export function timeoutAfterReads(limitMs: Millis, callback: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(callback), limitMs).unref();
}
