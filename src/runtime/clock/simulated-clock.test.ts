import { describe, expect, it } from 'vitest';
import { SimulatedClock } from './simulated-clock.ts';

describe('advanceTo', () => {
  it('fires what is due, in order, each at its own time, and stops at the time asked for', () => {
    const clock = new SimulatedClock();
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(`${name} at ${clock.now()}`);
    clock.setTimer(30, note('c'));
    clock.setTimer(10, note('a'));
    clock.setTimer(20, () => {
      note('b')();
      clock.setTimer(5, note('set meanwhile'));
    });
    clock.setTimer(26, note('later')).cancel();
    clock.advanceTo(29);
    expect(fired).toEqual(['a at 10', 'b at 20', 'set meanwhile at 25']);
    expect(clock.now()).toBe(29);
    clock.advanceTo(30);
    expect(fired.at(-1)).toBe('c at 30');
  });

  it('moves time where no timer is set, and wall time with it', () => {
    const clock = new SimulatedClock({ epoch: 1_000_000 });
    clock.advanceTo(250);
    clock.advanceTo(250);
    expect([clock.now(), clock.wallTime()]).toEqual([250, 1_000_250]);
  });

  it.each([99, Number.NaN])('refuses %s ms when it is 100 ms', (time) => {
    const clock = new SimulatedClock();
    clock.advanceTo(100);
    expect(() => clock.advanceTo(time)).toThrow(
      new RangeError(`advanceTo: ${time} ms is no finite time at or after now, 100 ms`),
    );
    expect(clock.now()).toBe(100);
  });

  it('refuses a time without end, which a timer that sets the next would never reach', () => {
    const clock = new SimulatedClock();
    expect(() => clock.advanceTo(Number.POSITIVE_INFINITY)).toThrow(RangeError);
  });
});
