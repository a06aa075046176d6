import { expect, it } from 'vitest';
import { limitedWarnings } from './limited-log.ts';
import type { Log } from './log.ts';
import { SimulatedClock } from './simulated-clock.ts';

it('warns once a minute for each message, and says how many were left out', () => {
  const clock = new SimulatedClock();
  const lines: unknown[] = [];
  const log = { warn: (fields: object, message: string) => lines.push([message, fields]) };
  const warn = limitedWarnings(log as unknown as Log, clock);
  for (let i = 0; i < 4; i++) warn({ i }, 'a');
  warn({}, 'b');
  clock.advanceTo(59_999);
  warn({}, 'a');
  clock.advanceTo(60_000);
  warn({ i: 5 }, 'a');
  clock.advanceTo(120_000);
  warn({ i: 6 }, 'a');
  expect(lines).toEqual([
    ['a', { i: 0 }],
    ['b', {}],
    ['a', { i: 5, leftOut: 4 }],
    ['a', { i: 6 }],
  ]);
});
