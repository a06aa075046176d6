import { expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/simulated-clock.ts';
import { EventClock } from './event-clock.ts';

it('tells whole microseconds, never ahead of the time and never back, in events and between them', () => {
  const simulated = new SimulatedClock();
  let now = 123_456_789;
  const clock = new EventClock(
    {
      now: () => now,
      wallTime: () => 0,
      setTimer: (delay, callback) => simulated.setTimer(delay, callback),
    },
    () => undefined,
  );
  let before = 0;
  for (let each = 0; each < 10_000; each++) {
    now += 0.000_317;
    const at = each % 2 === 0 ? clock.now() : clock.during((t) => t);
    expect(String(at)).toMatch(/^\d+(\.\d{1,3})?$/);
    expect(at).toBeLessThanOrEqual(now);
    expect(now - at).toBeLessThan(0.001_001);
    expect(at).toBeGreaterThanOrEqual(before);
    before = at;
  }
});
