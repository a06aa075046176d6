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
    return !isFull(error);
  }
}

/** For the connection that a request needs to another server, and for files that are read meanwhile. */
const SPARE_FILES = 4;

/** Whether a few files more can be opened. */
export function hasSpareFiles(): boolean {
  const opened: number[] = [];
  try {
    while (opened.length < SPARE_FILES) opened.push(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    return !isFull(error);
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** The limit of the process or of the system. */
function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}

interface OpenFilesOptions {
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** Frees what can be freed where no further file can be opened. */
  readonly onNone: () => void;
}

/** Watches this process, for a program whose log is plain lines. */
export function watchOpenFiles({ clock, log, onNone }: OpenFilesOptions): FilesWatchdog {
  const write = (_fields: unknown, line?: string): void => log(line ?? '');
  const lines = { info: write, warn: write };
  return new FilesWatchdog({ canOpen: canOpenFile, onNone, clock, log: lines });
}
