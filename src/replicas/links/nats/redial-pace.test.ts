import { describe, expect, it } from 'vitest';
import { RedialPace } from './redial-pace.ts';

describe('[V412] when a NATS server is connected to again', () => {
  it('is at once, and then half a second apart while none can be reached', () => {
    const pace = new RedialPace();
    expect([pace.nextIn(0), pace.nextIn(0), pace.nextIn(510)]).toEqual([0, 500, 490]);
  });

  it('is twice as late after each connection that ended soon, up to half a minute', () => {
    const pace = new RedialPace();
    let now = pace.nextIn(0);
    const gaps = Array.from({ length: 9 }, () => {
      pace.connected(now);
      const waitMs = pace.nextIn(now);
      now += waitMs;
      return waitMs;
    });
    expect(gaps).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000]);
    pace.connected(now);
    expect(pace.nextIn(now + 60_000)).toBe(0);
    expect(pace.nextIn(now + 60_000)).toBe(500);
  });
});
