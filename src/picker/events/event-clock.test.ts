import { describe, expect, it } from 'vitest';
import { inMicroseconds } from '../../journal/capture/start-capture.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { EventClock } from './event-clock.ts';

describe('the event clock', () => {
  it('stands still during an event, and during events within it', () => {
    let now = 1;
    const simulated = new SimulatedClock();
    const setTimer = simulated.setTimer.bind(simulated);
    const clock = new EventClock({ now: () => now, wallTime: () => 0, setTimer }, () => undefined);
    expect(clock.begin()).toBe(1);
    now = 2;
    expect([clock.now(), clock.begin(), clock.now()]).toEqual([1, 1, 1]);
    clock.end();
    expect(clock.now()).toBe(1);
    clock.end();
    expect(clock.now()).toBe(2);
  });

  it('numbers the timers of events alone, and reports when they fire', () => {
    const simulated = new SimulatedClock();
    const fired: string[] = [];
    const clock = new EventClock(simulated, (timer, at) => fired.push(`${timer} at ${at}`));
    clock.setTimer(1, () => fired.push('outside'));
    clock.setUp(() => clock.setTimer(2, () => fired.push('set-up')));
    clock.begin();
    clock.setTimer(4, () => fired.push(`late, ${clock.now()}`));
    clock.setTimer(3, () => fired.push('soon'));
    clock.end();
    expect(clock.timers).toBe(2);
    while (simulated.step()) continue;
    expect(fired).toEqual(['outside', 'set-up', '1 at 3', 'soon', '0 at 4', 'late, 4']);
  });

  it('[G273] numbers the timers that are set by what is looked at after something was set up', () => {
    const clock = new EventClock(new SimulatedClock(), () => undefined);
    let looks = 0;
    clock.observeEvents(() => {
      looks += 1;
      if (looks > 1) return;
      clock.begin();
      clock.setTimer(1, () => undefined);
      clock.end();
    });
    clock.setUp(() => clock.setTimer(1, () => undefined));
    expect([looks > 0, clock.timers]).toEqual([true, 1]);
  });

  it('goes on after an event that throws', () => {
    const clock = new EventClock(new SimulatedClock(), () => undefined);
    expect(() =>
      clock.setUp(() => {
        throw new Error('not made');
      }),
    ).toThrow('not made');
    clock.begin();
    clock.setTimer(1, () => undefined);
    clock.end();
    expect(clock.timers).toBe(1);
  });

  it('gives a capture whole microseconds that never run ahead or back, in events and between them', () => {
    let now = 123_456_789;
    const simulated = new SimulatedClock();
    const drifting = {
      now: () => now,
      wallTime: () => 0,
      setTimer: simulated.setTimer.bind(simulated),
    };
    const clock = new EventClock(inMicroseconds(drifting), () => undefined);
    let before = 0;
    for (let each = 0; each < 10_000; each++) {
      now += 0.000_317;
      const inEvent = each % 2 === 1;
      const at = inEvent ? clock.begin() : clock.now();
      if (inEvent) clock.end();
      expect(String(at)).toMatch(/^\d+(\.\d{1,3})?$/);
      expect(at).toBeLessThanOrEqual(now);
      expect(now - at).toBeLessThan(0.001_001);
      expect(at).toBeGreaterThanOrEqual(before);
      before = at;
    }
  });
});
