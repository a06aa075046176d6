import type { ReplacementReport } from '../../../framework/replacement.ts';
import type { Clock, Timer } from '../../../framework/runtime.ts';
import type { Log } from '../../../runtime/log/log.ts';

/** A scheduler that comes and goes many times a second has one line a second. */
const INTERVAL_MS = 1000;

/**
 * Logs when the scheduler in place of the profiles gets into another state, with the cause and how
 * often that happened since the last line.
 */
export function logScheduler(
  replacement: () => ReplacementReport | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'info' | 'warn'> },
): { stop(): void } {
  let timer: Timer;
  let logged = '';
  let changesLogged = 0;
  const look = (): void => {
    timer = clock.setTimer(INTERVAL_MS, look);
    const { name, state, cause, since, changes = new Map() } = replacement() ?? {};
    if (state === undefined || state === 'connecting') return;
    const key = `${state} ${since}`;
    if (key === logged) return;
    logged = key;
    const changesNow = [...changes.values()].reduce((sum, count) => sum + count, 0);
    const fields = { scheduler: name, state, cause, changes: changesNow - changesLogged };
    changesLogged = changesNow;
    if (state === 'connected') log.info(fields, 'the scheduler decides');
    else log.warn(fields, `the scheduler is ${state}: the profiles decide`);
  };
  timer = clock.setTimer(INTERVAL_MS, look);
  return { stop: () => timer.cancel() };
}
