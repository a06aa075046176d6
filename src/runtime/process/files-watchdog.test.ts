import { expect, it } from 'vitest';
import { SimulatedClock } from '../clock/simulated-clock.ts';
import { FilesWatchdog } from './files-watchdog.ts';

it('[V492] says once that no file can be opened, and once that it is over for a minute', () => {
  const clock = new SimulatedClock();
  const lines: string[] = [];
  const log = {
    warn: (_fields: object, line: string) => void lines.push(`warn ${line.slice(0, 43)}`),
    info: (_fields: object, line: string) => void lines.push(`info ${line}`),
  };
  let room = true;
  const watchdog = new FilesWatchdog({ canOpen: () => room, clock, log });
  const after = (seconds: number, hasRoom: boolean): string | undefined => {
    room = hasRoom;
    clock.advanceTo(clock.now() + 1000 * seconds);
    return watchdog.trouble();
  };
  expect(after(60, true)).toBeUndefined();
  expect(after(5, false)).toBe('no further file or connection can be opened');
  expect(after(50, true)).toBeDefined();
  expect(after(5, false)).toBeDefined();
  expect(after(55, true)).toBeDefined();
  expect(after(5, true)).toBeUndefined();
  watchdog.stop();
  expect(after(60, false)).toBeUndefined();
  expect(lines).toEqual([
    'warn no further file or connection can be opened',
    'info files and connections can be opened again',
  ]);
});
