import { expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { ActiveWatch } from './active-watch.ts';

it('[V142] looks once a second for all followers, calls all of them at each change, and stops without any', () => {
  const clock = new SimulatedClock();
  const pass = (ms: number): void => clock.advanceTo(clock.now() + ms);
  let active = false;
  let looks = 0;
  const watch = new ActiveWatch(() => {
    looks += 1;
    return active;
  }, clock);
  const told: string[] = [];
  const ends = Array.from({ length: 1000 }, (_, at) =>
    watch.follow((is) => void told.push(`${at} ${is}`)),
  );
  expect(told).toHaveLength(1000);
  pass(5000);
  expect([told.length, looks]).toEqual([1000, 6]);
  active = true;
  pass(1000);
  expect(told.slice(1000)).toEqual(Array.from({ length: 1000 }, (_, at) => `${at} true`));
  for (const end of ends) end();
  for (const end of ends) end();
  pass(5000);
  expect([watch.count, looks]).toEqual([0, 7]);
});
