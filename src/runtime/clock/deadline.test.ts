import { expect, it } from 'vitest';
import { UnsteadyClock } from '../../../test/support/unsteady-clock.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { seededRandom } from '../seeded-random.ts';
import { Deadline, within } from './deadline.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** A clock of a process that may stand still: then its timers fire late, and all at once. */
class HaltingClock implements Clock {
  readonly cpuTime = undefined;
  #now: Millis = 0;
  readonly #timers = new Set<{ readonly due: Millis; readonly callback: () => void }>();

  now(): Millis {
    return this.#now;
  }

  wallTime(): Millis {
    return this.#now;
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    const timer = { due: this.#now + delay, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** Stands still for so long; then the timers fire that are due by then. */
  halt(forMs: Millis): void {
    this.#now += forMs;
    const due = [...this.#timers].filter((timer) => timer.due <= this.#now);
    for (const timer of due) {
      this.#timers.delete(timer);
      timer.callback();
    }
  }

  /** Runs for so long, a millisecond at a time. */
  run(forMs: Millis): void {
    for (let ms = 0; ms < forMs; ms++) this.halt(1);
  }
}

it('a deadline passes when nothing has happened for its time, to the millisecond', () => {
  const clock = new SimulatedClock();
  const passed: Millis[] = [];
  const deadline = new Deadline(clock, 70, () => passed.push(clock.now()));
  deadline.restart();
  clock.advanceTo(33);
  deadline.restart();
  clock.advanceTo(102);
  expect(passed).toEqual([]);
  clock.advanceTo(1_000);
  expect(passed).toEqual([103]);
});

it('[V612] a deadline passes where the clock does not move in what rounding leaves of its time', () => {
  const passed: Millis[] = [];
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const setTimer = clock.setTimer.bind(clock);
  let timers = 0;
  clock.setTimer = (delayMs, callback) => {
    timers += 1;
    if (timers > 10_000) throw new Error('timers are set without end');
    return setTimer(delayMs, callback);
  };
  // What is left after ten steps of a tenth is no number of microseconds, and sometimes above zero.
  for (let start = 0; start < 200; start++) {
    new Deadline(clock, 30_000, () => passed.push(clock.at)).restart();
    clock.advanceBy(1003.019);
  }
  clock.advanceBy(40_000);
  expect(passed).toHaveLength(200);
  expect(clock.pending).toBe(0);
});

it('[V511] the time in which the process stands still counts as a tenth of a limit at most', () => {
  const clock = new HaltingClock();
  const passed: Millis[] = [];
  const deadline = new Deadline(clock, 100, () => passed.push(clock.now()));
  deadline.restart();
  clock.run(25);
  clock.halt(5_000);
  expect(passed).toEqual([]);
  clock.run(200);
  // It waited for 25 ms, for a step of 10 ms that the halt took, of which 5 were over, and 70 more.
  expect(passed).toEqual([5_095]);
});

it('[V511] what happens right after a halt lets a deadline begin anew', () => {
  const clock = new HaltingClock();
  const passed: Millis[] = [];
  const deadline = new Deadline(clock, 100, () => passed.push(clock.now()));
  deadline.restart();
  clock.halt(5_000);
  deadline.restart();
  clock.run(99);
  expect(passed).toEqual([]);
  clock.run(1);
  expect(passed).toEqual([5_100]);
});

it('[V511] work within a limit goes on after a halt', async () => {
  const clock = new HaltingClock();
  const { promise, resolve } = Promise.withResolvers<string>();
  const { signal } = new AbortController();
  const working = within({ clock, limitMs: 100, signal, what: 'did not answer' }, () => promise);
  clock.halt(5_000);
  resolve('answered');
  expect(await working).toBe('answered');
});
