import type { SchedulerState } from '../framework/replacement.ts';
import type { Clock, Millis } from '../framework/runtime.ts';

/** Which state a scheduler is in, since when, why, and how often it has got into each. */
export class StateHistory {
  readonly #clock: Pick<Clock, 'wallTime'>;
  readonly changes: Map<SchedulerState, number> = new Map();
  state: SchedulerState = 'connecting';
  since: Millis;
  cause = 'it has just been started';
  /** The last reason for which it was gone or slow, also after it is back. */
  lastError: string | undefined;

  constructor(clock: Pick<Clock, 'wallTime'>) {
    this.#clock = clock;
    this.since = clock.wallTime();
  }

  /** Nothing changes where the state stays, except `lastError`. */
  become(state: SchedulerState, cause: string): void {
    if (state !== 'connected') this.lastError = cause;
    if (state === this.state) return;
    this.state = state;
    this.cause = cause;
    this.since = this.#clock.wallTime();
    this.changes.set(state, (this.changes.get(state) ?? 0) + 1);
  }
}
