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
  const lines = new SchedulerLines(log);
  let timer: Timer;
  const look = (): void => {
    timer = clock.setTimer(INTERVAL_MS, look);
    lines.look(replacement());
  };
  timer = clock.setTimer(INTERVAL_MS, look);
  return { stop: () => timer.cancel() };
}

/** The lines about one scheduler after another. */
class SchedulerLines {
  readonly #log: LogOptions['log'];
  /** What the last line was about. */
  #logged = '';
  /** The scheduler decided when it was looked at last. */
  #wasConnected = false;
  #changesLogged = 0;

  constructor(log: LogOptions['log']) {
    this.#log = log;
  }

  /** Logs a state that is another one than that of the last line. */
  look(report: ReplacementReport | ChallengerReport | undefined): void {
    const { name, state, cause, since, lastError, changes = new Map() } = report ?? {};
    const changesNow = [...changes.values()].reduce((sum, count) => sum + count, 0);
    // Another scheduler counts from 0 again.
    if (changesNow < this.#changesLogged) {
      this.#changesLogged = 0;
      this.#wasConnected = false;
    }
    if (state === undefined || state === 'connecting') return;
    const key = `${name} ${state} ${since}`;
    if (key === this.#logged) return;
    this.#logged = key;
    const shadow = report !== undefined && 'challenger' in report ? report.challenger : undefined;
    const newChanges = changesNow - this.#changesLogged;
    const fields = { scheduler: name, shadow, state, cause, changes: newChanges };
    const wasAway = this.#wasConnected && newChanges > 1;
    this.#wasConnected = state === 'connected';
    this.#changesLogged = changesNow;
    const which = shadow === undefined ? 'the scheduler' : 'the scheduler of a promoted shadow';
    if (state !== 'connected') {
      this.#log.warn(fields, `${which} ${TROUBLE[state]}: the profiles decide`);
    } else if (wasAway) {
      // One that breaks and comes back each second would else be in the log as one that decides.
      this.#log.warn({ ...fields, lastError }, `${which} was not asked for a moment`);
    } else this.#log.info(fields, `${which} decides`);
  }
}
