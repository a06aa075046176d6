import { mkdtempSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../framework/error.ts';
import { makeFolder } from './make-folder.ts';

/** Makes the folder that `flag` names, if it is not there. Throws ConfigError where it cannot be made or nothing be written in it. */
export function requireFolder(flag: string, folder: string): void {
  try {
    makeFolder(folder);
    // To be told by the disk itself: what the mode says is not all, such as in /proc.
    rmdirSync(mkdtempSync(join(folder, '.pointsman-')));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `the folder ${folder} cannot be made or written to (${why}); name another`;
    throw new ConfigError('serve', [{ path: flag, message }]);
  }
}
