import { expect, test } from 'vitest';
import { CountedClock } from '../../../../test/support/counted-clock.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { SlotTimers } from './slot-timers.ts';

const SLOT = { ms: 10, callbacksMax: 2 };

function setUp() {
  const clock = new SimulatedClock();
  const timers = new SlotTimers(clock);
  const fired: (readonly [name: string, at: number])[] = [];
  const set = (name: string, delay: number) =>
    timers.setTimer(delay, SLOT, () => fired.push([name, clock.now()]));
  return { clock, fired, set };
}

test('[B220] timers of one slot fire together, at its beginning', async () => {
  const { clock, fired, set } = setUp();
  set('late', 39);
  set('first', 21);
  set('next', 40);
  set('second', 29.5);
  await clock.run(100);
  expect(fired).toEqual([
    ['first', 20],
    ['second', 20],
    ['late', 30],
    ['next', 40],
  ]);
});

test('[B231] a full slot takes no more timers while an earlier one has not begun', async () => {
  const { clock, fired, set } = setUp();
  for (const name of ['a', 'b', 'c', 'd', 'e']) set(name, 25);
  await clock.run(100);
  expect(fired).toEqual([
    ['c', 10],
    ['d', 10],
    ['e', 10],
    ['a', 20],
    ['b', 20],
  ]);
});

test('[B231] a timer that is set again for a whole number of slots comes that much later', async () => {
  const clock = new SimulatedClock();
  const timers = new SlotTimers(clock);
  const intervalMs = 176;
  const slot = { ms: intervalMs / 7, callbacksMax: 2 };
  const times: number[] = [];
  const again = (): void => {
    times.push(clock.now());
    timers.setTimer(intervalMs, slot, again);
  };
  timers.setTimer(100, slot, again);
  await clock.run(20_000);
  expect(times.length).toBeGreaterThan(100);
  for (const [index, at] of times.entries()) {
    expect(at).toBeCloseTo((times[0] ?? 0) + index * intervalMs, 6);
  }
});

test('[B220] a timer of the slot that has begun fires when it is due', async () => {
  const { clock, fired, set } = setUp();
  set('soon', 4);
  clock.advanceTo(50);
  set('now', 0);
  set('later', 9);
  await clock.run(100);
  expect(fired).toEqual([
    ['soon', 4],
    ['now', 50],
    ['later', 59],
  ]);
});

test('[B220] a timer that is cancelled does not fire, and the others of its slot do', async () => {
  const { clock, fired, set } = setUp();
  const cancelled = set('cancelled', 25);
  set('other', 26);
  cancelled.cancel();
  await clock.run(100);
  expect(fired).toEqual([['other', 20]]);
});

test('[B220] a slot of which all timers were cancelled holds no timer of the process', () => {
  const clock = new CountedClock(new SimulatedClock());
  const timers = new SlotTimers(clock);
  const set = [25, 26].map((delay) => timers.setTimer(delay, SLOT, () => undefined));
  expect(clock.openTimers).toBe(1);
  for (const timer of set) timer.cancel();
  expect(clock.openTimers).toBe(0);
});
