import { describe, expect, it } from 'vitest';
import type { Clock } from '../../framework/runtime.ts';
import { preciseClock } from './precise-clock.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** Above a simulated clock whose timers are late as Node's are: a busy machine changes nothing. */

/** What one turn of the event loop takes. */
const TURN_MS = 0.01;

interface SetUp {
  readonly time: SimulatedClock;
  readonly clock: Clock;
  /** Turns of the event loop that were asked for. */
  readonly turns: () => number;
}

function setUp({ turnMs = TURN_MS, lateMs = 1.7 } = {}): SetUp {
  const time = new SimulatedClock();
  let turns = 0;
  const coarse: Clock = {
    now: () => time.now(),
    wallTime: () => time.wallTime(),
    setTimer: (delay, callback) => time.setTimer(Math.max(0, delay) + lateMs, callback),
  };
  const nextTurn = (callback: () => void): void => {
    turns += 1;
    time.setTimer(turnMs, callback);
  };
  return { time, clock: preciseClock(coarse, nextTurn), turns: () => turns };
}

describe('the precise clock', () => {
  it('fires each timer once, never early, at most one turn late, in the order they are due', () => {
    const { time, clock } = setUp();
    const fired: { readonly delay: number; readonly late: number }[] = [];
    for (const delay of [3.4, 0, 7.1, 1.2, 0.3]) {
      clock.setTimer(delay, () => fired.push({ delay, late: clock.now() - delay }));
    }
    time.advanceTo(50);
    expect(fired.map(({ delay }) => delay)).toEqual([0, 0.3, 1.2, 3.4, 7.1]);
    for (const { late } of fired) {
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThanOrEqual(TURN_MS);
    }
  });

  it('fires late and not early where the machine is busy for longer than a timer waits', () => {
    const { time, clock } = setUp({ turnMs: 30 });
    const fired: string[] = [];
    clock.setTimer(1.5, () => fired.push(`second at ${clock.now()}`));
    clock.setTimer(1, () => fired.push(`first at ${clock.now()}`));
    time.advanceTo(100);
    expect(fired).toEqual(['first at 30', 'second at 30']);
  });

  it('does not fire what was cancelled, whether it waits or is about to', () => {
    const { time, clock, turns } = setUp();
    const fired: string[] = [];
    const waiting = clock.setTimer(4, () => fired.push('waiting'));
    const near = clock.setTimer(0.5, () => fired.push('near'));
    near.cancel();
    waiting.cancel();
    time.advanceTo(20);
    expect(fired).toEqual([]);
    expect(turns()).toBeLessThanOrEqual(1);
  });

  it('lets a callback cancel another that is due in the same turn', () => {
    const { time, clock } = setUp({ turnMs: 2 });
    const fired: string[] = [];
    clock.setTimer(0.5, () => {
      fired.push('first');
      second.cancel();
    });
    const second = clock.setTimer(0.5, () => fired.push('second'));
    time.advanceTo(20);
    expect(fired).toEqual(['first']);
  });

  it('spins for a fifth of the time at most, and beyond that is as late as the coarse clock, never early', () => {
    const { time, clock, turns } = setUp();
    const late: number[] = [];
    const set = (due: number): void => {
      if (late.length < 400) {
        clock.setTimer(1.5, () => {
          late.push(clock.now() - due);
          set(clock.now() + 1.5);
        });
      }
    };
    set(1.5);
    time.advanceTo(5000);
    expect(late).toHaveLength(400);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
    expect(late.slice(0, 50).every((each) => each <= TURN_MS + 1e-9)).toBe(true);
    expect(Math.max(...late)).toBeCloseTo(1.7, 5);
    // 100 ms are saved, and a fifth of the time is added.
    const spent = turns() * TURN_MS;
    expect(spent).toBeGreaterThan(100);
    expect(spent).toBeLessThan(100 + 0.2 * late.length * 3.2 + 5);
  });

  it('stands on the machine’s own time unless configured otherwise', async () => {
    const clock = preciseClock();
    const from = clock.now();
    await new Promise<void>((resolve) => void clock.setTimer(3, resolve));
    expect(clock.now() - from).toBeGreaterThanOrEqual(3);
  });
});
