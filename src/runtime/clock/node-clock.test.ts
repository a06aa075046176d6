import { describe, expect, it } from 'vitest';
import { nodeClock } from './node-clock.ts';

describe('nodeClock', () => {
  it('never calls back before the delay has passed, not in a busy event loop either', async () => {
    const clock = nodeClock();
    const delays = [0, 0.4, 1, 1.6, 3.3, 5, 7.9];
    const waits = delays.map(
      (delay) =>
        new Promise<number>((resolve) => {
          // The loop's own idea of the time is older than ours here.
          busy(2);
          const from = clock.now();
          clock.setTimer(delay, () => resolve(clock.now() - from - delay));
        }),
    );
    for (const late of await Promise.all(waits)) expect(late).toBeGreaterThanOrEqual(0);
  });

  it('[G231] calls back in the next turn of the event loop where there is no delay', async () => {
    const clock = nodeClock();
    const called: string[] = [];
    clock.setTimer(0, () => called.push('none'));
    clock.setTimer(0, () => called.push('cancelled')).cancel();
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    expect(called).toEqual(['none']);
  });

  it('does not call back once cancelled, in the callback of another timer either', async () => {
    const clock = nodeClock();
    const called: string[] = [];
    const first = clock.setTimer(1, () => called.push('first'));
    const third = clock.setTimer(4, () => called.push('third'));
    clock.setTimer(2, () => third.cancel());
    first.cancel();
    await new Promise<void>((resolve) => {
      clock.setTimer(8, resolve);
    });
    expect(called).toEqual([]);
  });

  it('waits longer than Node can at once, rather than not at all', async () => {
    const clock = nodeClock();
    let called = false;
    const timer = clock.setTimer(2 ** 40, () => {
      called = true;
    });
    await new Promise<void>((resolve) => {
      clock.setTimer(5, resolve);
    });
    timer.cancel();
    expect(called).toBe(false);
  });

  it('gives the time of day', () => {
    expect(nodeClock().wallTime()).toBeGreaterThan(Date.UTC(2025));
  });

  function busy(ms: number): void {
    const until = performance.now() + ms;
    while (performance.now() < until);
  }
});
