import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../framework/runtime.ts';

/** A file may be written at any pace, and each change is read, applied and logged. */
const GAP_MS: Millis = 1000;

/**
 * Runs what takes time for each of many events: at once, and then once for all events of a run and
 * of the second after it. `run` must not reject. It says whether it is to be run again without an
 * event.
 */
export function oneAtATime(
  run: () => Promise<'again' | 'done'>,
  gap: () => Promise<unknown> = () => delay(GAP_MS, undefined, { ref: false }),
): () => void {
  let isRunning = false;
  let isAskedAgain = false;
  const runAll = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      if ((await run()) === 'again') isAskedAgain = true;
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
