import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Clock } from '../../framework/runtime.ts';
import { FilesWatchdog } from './files-watchdog.ts';

/**
 * Whether one file more can be opened. Past the limit of the process or the system, libuv closes
 * each new connection as it comes, and no event says so.
 */
export function canOpenFile(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code !== 'EMFILE' && code !== 'ENFILE';
  }
}

/** Watches this process, for a program whose log is plain lines. */
export function watchOpenFiles(clock: Clock, log: (line: string) => void): FilesWatchdog {
  const write = (_fields: unknown, line?: string): void => log(line ?? '');
  return new FilesWatchdog({ canOpen: canOpenFile, clock, log: { info: write, warn: write } });
}
