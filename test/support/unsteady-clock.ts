import type { Clock, Millis, Random, Timer } from '../../src/framework/runtime.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';

const HOUR_MS: Millis = 3_600_000;
/** Between two readings of the time. */
const COMPUTED_MS: Millis = 0.01;

/**
 * A clock that moves on while code runs, as a real one does, by amounts that follow from the seed:
 * mostly microseconds, sometimes as long as a busy machine takes, seldom seconds. Timers come late by
 * as much, and the wall clock is set back or on now and then. All in whole microseconds.
 */
export class UnsteadyClock implements Clock {
  /** `steady` has no long pauses; `still` passes only between timers, as simulated time does. */
  pace: 'usual' | 'busy' | 'steady' | 'still' = 'usual';
  /** Timers come when they are due, or in the turn after it. */
  hasPunctualTimers = false;
  /** Of those that `turn` has run, which may be set back. */
  longestTurnMs: Millis = 0;
  /** What this thread computes: the rest of the time is taken by others. */
  readonly cpuTime: (() => Millis) | undefined;
  readonly #random: Random;
  readonly #timers = new SimulatedClock();
  #now: Millis = 0;
  #pending = 0;
  #computedMs: Millis = 0;
  #wallOffset: Millis = 1_700_000_000_000;

  constructor(random: Random, options: { readonly knowsCpuTime?: boolean } = {}) {
    this.#random = random;
    this.cpuTime = options.knowsCpuTime === true ? () => this.#computedMs : undefined;
  }

  now(): Millis {
    this.pass(this.#drawn());
    this.#computedMs += COMPUTED_MS;
    return this.#now;
  }

  /** What `now` has given last, or what has passed since: time stands still here. */
  get at(): Millis {
    return this.#now;
  }

  wallTime(): Millis {
    if (this.#random.next() < 0.001) this.#wallOffset += (this.#random.next() - 0.5) * HOUR_MS;
    return this.#wallOffset + this.#now;
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    const behind = this.#now - this.#timers.now();
    const lateMs = this.hasPunctualTimers ? 0 : this.#drawn();
    const due = behind + Math.max(0, delay) + lateMs;
    let isSet = true;
    const end = (): void => {
      if (isSet) this.#pending -= 1;
      isSet = false;
    };
    const timer = this.#timers.setTimer(due, () => {
      end();
      this.#reach(this.#timers.now());
      this.turn(callback);
    });
    this.#pending += 1;
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }

  /** Timers that are set and have neither fired nor been cancelled. */
  get pending(): number {
    return this.#pending;
  }

  /** So much time passes before anything else happens, as where the machine sleeps. */
  pass(ms: Millis): void {
    this.#now = Math.floor((this.#now + ms) * 1000) / 1000;
  }

  /** Runs what happens in one turn, and measures it. Timers do so themselves. */
  turn(task: () => void): void {
    const from = this.#now;
    task();
    this.longestTurnMs = Math.max(this.longestTurnMs, this.#now - from);
  }

  /** Fires what is due within this time, each timer in a turn of its own. */
  advanceBy(ms: Millis): void {
    const until = this.#now + ms;
    while (this.#timers.step(until)) continue;
    this.#reach(until);
  }

  /** Does what `advanceBy` does, and settles promises between the timers. */
  async runFor(ms: Millis): Promise<void> {
    const until = this.#now + ms;
    await this.#timers.run(until);
    this.#reach(until);
  }

  #reach(at: Millis): void {
    if (at > this.#now) this.pass(at - this.#now);
  }

  #drawn(): Millis {
    if (this.pace === 'still') return 0;
    const chance = this.#random.next();
    const size = this.#random.next();
    if (this.pace === 'busy') return chance < 0.95 ? 0.05 * size : 2000 * size * size;
    if (this.pace === 'steady' || chance < 0.98) return 0.05 * size;
    if (chance < 0.997) return 1 + 29 * size;
    return chance < 0.9999 ? 500 * size : 10_000 * size;
  }
}
