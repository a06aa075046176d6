import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../framework/runtime.ts';

/** A file may be written at any pace, and each change is read, applied and logged. */
const GAP_MS: Millis = 1000;

/**
 * Runs what takes time for each of many events: at once, and then once for all events of a run and
 * of the second after it. `run` must not reject.
 */
export function oneAtATime(
  run: () => Promise<void>,
  gap: () => Promise<unknown> = () => delay(GAP_MS, undefined, { ref: false }),
): () => void {
  let isRunning = false;
  let isAskedAgain = false;
  const runAll = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      await run();
      await gap();
    } while (isAskedAgain);
    isRunning = false;
  };
  return () => {
    isAskedAgain = isRunning;
    if (isRunning) return;
    isRunning = true;
    void runAll();
  };
}
