import type { ChallengerReport, ReplacementReport } from '../../../framework/replacement.ts';
import type { Clock, Timer } from '../../../framework/runtime.ts';
import type { Log } from '../../../runtime/log/log.ts';

/** A scheduler that comes and goes many times a second has one line a second. */
const INTERVAL_MS = 1000;

/** The state `slow` is also that of a scheduler whose answers are wrong. */
const TROUBLE = {
  gone: 'is gone',
  slow: 'is not asked, because its answers are late or wrong',
} as const;

interface LogOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

interface Schedulers {
  replacement(): ReplacementReport | undefined;
  challengerReplacement(): ChallengerReport | undefined;
}

/** Logs the changes of the scheduler in charge, and of that of a promoted shadow. */
export function logSchedulers(schedulers: Schedulers, options: LogOptions): { stop(): void } {
  const logs = [
    logScheduler(() => schedulers.replacement(), options),
    logScheduler(() => schedulers.challengerReplacement(), options),
  ];
  return {
    stop: () => {
      for (const each of logs) each.stop();
    },
  };
}

/**
 * Logs when the scheduler in place of the profiles, or that of a promoted shadow, gets into another
 * state, with the cause and how often that happened since the last line.
 */
export function logScheduler(
  replacement: () => ReplacementReport | ChallengerReport | undefined,
  { clock, log }: LogOptions,
): { stop(): void } {
  let timer: Timer;
  let logged = '';
  /** The scheduler decided when it was looked at last. */
  let wasConnected = false;
  let changesLogged = 0;
  const look = (): void => {
    timer = clock.setTimer(INTERVAL_MS, look);
    const report = replacement();
    const { name, state, cause, since, lastError, changes = new Map() } = report ?? {};
    const changesNow = [...changes.values()].reduce((sum, count) => sum + count, 0);
    // Another scheduler counts from 0 again.
    if (changesNow < changesLogged) {
      changesLogged = 0;
      wasConnected = false;
    }
    if (state === undefined || state === 'connecting') return;
    const key = `${name} ${state} ${since}`;
    if (key === logged) return;
    logged = key;
    const shadow = report !== undefined && 'challenger' in report ? report.challenger : undefined;
    const fields = { scheduler: name, shadow, state, cause, changes: changesNow - changesLogged };
    const wasAway = wasConnected && fields.changes > 1;
    wasConnected = state === 'connected';
    changesLogged = changesNow;
    const which = shadow === undefined ? 'the scheduler' : 'the scheduler of a promoted shadow';
    if (state !== 'connected') log.warn(fields, `${which} ${TROUBLE[state]}: the profiles decide`);
    // One that breaks and comes back each second would else be in the log as one that decides.
    else if (wasAway) log.warn({ ...fields, lastError }, `${which} was not asked for a moment`);
    else log.info(fields, `${which} decides`);
  };
  timer = clock.setTimer(INTERVAL_MS, look);
  return { stop: () => timer.cancel() };
}
