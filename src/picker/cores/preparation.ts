import type { Stopwatch } from '../../framework/plugin.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';

export interface Preparation {
  /** The plugin, which is reported where it fails. */
  readonly part: object;
  /**
   * Begins to prepare something. Returns whether the request has to wait until `done` is called.
   */
  readonly begin: (done: () => void) => boolean;
  /** Called with the time that it took, until `done` where the request had to wait. */
  readonly stopwatch?: Stopwatch | undefined;
}

/**
 * Plugins have limits of their own, of milliseconds to seconds. This ends the wait without them.
 */
export const PREPARATION_MS_MAX: Millis = 60_000;

/**
 * Begins all of them. Returns whether any has to be waited for; then `ready` is called once, later
 * than this call and within a minute, whatever the plugins do: what calls `done` before it returns,
 * or throws, is not waited for, and a second or unexpected `done` has no effect.
 */
export function waitForAll(
  preparations: readonly Preparation[],
  ready: () => void,
  { faults, clock }: { readonly faults: PluginFaults; readonly clock: Clock },
): boolean {
  const waiting = new Set<Preparation>();
  let timer: ReturnType<Clock['setTimer']> | undefined;
  for (const preparation of preparations) {
    const begun = attempt(preparation, faults, () => {
      // While others begin, no one waits yet: the returned value says whether all is ready.
      if (!waiting.delete(preparation) || waiting.size > 0 || timer === undefined) return;
      timer.cancel();
      ready();
    });
    if (begun) waiting.add(preparation);
  }
  if (waiting.size === 0) return false;
  const giveUp = (): void => {
    const fault = new Error(`it did not call ready within ${PREPARATION_MS_MAX} ms`);
    for (const { part } of waiting) faults.report(part, 'prepare', fault);
    waiting.clear();
    ready();
  };
  timer = clock.setTimer(PREPARATION_MS_MAX, () => {
    // What came while this process stood still is read first.
    timer = clock.setTimer(0, giveUp);
  });
  return true;
}

/** Returns whether the request has to wait. */
function attempt(
  { part, begin, stopwatch }: Preparation,
  faults: PluginFaults,
  done: () => void,
): boolean {
  let over = false;
  const startedAt = stopwatch?.now() ?? 0;
  const end = (): void => {
    if (!over) stopwatch?.observe(stopwatch.now() - startedAt);
    over = true;
  };
  try {
    const waits = begin(() => {
      end();
      done();
    });
    if (!waits) end();
    return !over;
  } catch (error) {
    faults.report(part, 'prepare', error);
    end();
    return false;
  }
}
