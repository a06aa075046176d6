import { expect, it } from 'vitest';
import { EventClock } from '../picker/events/event-clock.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { ReplayClock } from './replay-clock.ts';

it('fires the timers of a replay that begins in the middle by the numbers of the capture', () => {
  const simulated = new SimulatedClock();
  const fired: number[] = [];
  const live = new EventClock(simulated, (number) => void fired.push(number));
  const timerOf = (clock: EventClock, after: number): void => {
    clock.begin();
    clock.setTimer(after, () => undefined);
    clock.end();
  };
  for (const after of [5, 10, 15]) timerOf(live, after);
  const replay = new ReplayClock(live.timers);
  timerOf(live, 1);
  const events: string[] = [];
  replay.runEvent(0, () => void replay.setTimer(1, () => void events.push('the fourth')));
  while (simulated.step(100)) continue;
  expect(fired.map((number) => replay.fire(number, 100))).toEqual([true, false, false, false]);
  expect(events).toEqual(['the fourth']);
});
