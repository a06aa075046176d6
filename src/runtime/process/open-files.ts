import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

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
