import { expect, it } from 'vitest';
import { SimulatedClock } from '../clock/simulated-clock.ts';
import { limitedLines, limitedWarnings } from './limited-log.ts';
import type { Log } from './log.ts';

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

it('[O92] writes so many lines a second, and says how many were left out', () => {
  const clock = new SimulatedClock();
  const lines: unknown[] = [];
  const write = limitedLines((fields) => void lines.push(fields), clock, {
    perSecond: 2,
    atOnce: 2,
  });
  for (let n = 0; n < 5; n++) write({ n }, 'refused');
  clock.advanceTo(499);
  write({ n: 5 }, 'refused');
  clock.advanceTo(1000);
  write({ n: 6 }, 'refused');
  write({ n: 7 }, 'refused');
  expect(lines).toEqual([{ n: 0 }, { n: 1 }, { n: 6, leftOut: 4 }, { n: 7 }]);
});
