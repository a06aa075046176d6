import { describe, expect, it } from 'vitest';
import { preciseClock } from './precise-clock.ts';

/** Waits are real and short; how punctual they are is a bench's matter. */

describe('the precise clock', () => {
  it('fires each timer once, never early, in the order they are due', async () => {
    const clock = preciseClock();
    const fired: { readonly delay: number; readonly from: number; readonly to: number }[] = [];
    const early: number[] = [];
    const delays = [3.4, 0, 7.1, 1.2, 0.3];
    await new Promise<void>((resolve) => {
      for (const delay of delays) {
        const from = clock.now() + delay;
        clock.setTimer(delay, () => {
          fired.push({ delay, from, to });
          if (clock.now() < from) early.push(delay);
          if (fired.length === delays.length) resolve();
        });
        // Due between the two: on a busy machine setting a timer may take long.
        const to = clock.now() + delay;
      }
    });
    expect(new Set(fired.map(({ delay }) => delay))).toEqual(new Set(delays));
    const overtaken = fired.filter(({ from }, at) => fired.slice(at).some(({ to }) => to < from));
    expect(overtaken).toEqual([]);
    expect(early).toEqual([]);
  });

  it('does not fire what was cancelled, whether it waits or is about to', async () => {
    const clock = preciseClock();
    const fired: string[] = [];
    const waiting = clock.setTimer(4, () => fired.push('waiting'));
    const near = clock.setTimer(0.5, () => fired.push('near'));
    near.cancel();
    waiting.cancel();
    await new Promise<void>((resolve) => void clock.setTimer(6, resolve));
    expect(fired).toEqual([]);
  });

  it('lets a callback cancel another that is due in the same turn', async () => {
    const clock = preciseClock();
    const fired: string[] = [];
    await new Promise<void>((resolve) => {
      clock.setTimer(0.5, () => {
        fired.push('first');
        second.cancel();
      });
      const second = clock.setTimer(0.5, () => fired.push('second'));
      clock.setTimer(5, resolve);
      const busyUntil = clock.now() + 2;
      while (clock.now() < busyUntil) continue;
    });
    expect(fired).toEqual(['first']);
  });

  it('is still right when what it may spend on precision is spent', async () => {
    const clock = preciseClock();
    let early = 0;
    for (let count = 0; count < 120; count++) {
      const due = clock.now() + 1.5;
      await new Promise<void>((resolve) => void clock.setTimer(1.5, resolve));
      if (clock.now() < due) early += 1;
    }
    expect(early).toBe(0);
  });
});
