import { existsSync, mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigError } from '../framework/error.ts';

/** Makes the folder that `flag` names, if it is not there. Throws ConfigError where it cannot be made or nothing be written in it. */
export function requireFolder(flag: string, folder: string): void {
  try {
    for (const path of missing(resolve(folder))) mkdirSync(path);
    // To be told by the disk itself: what the mode says is not all, such as in /proc.
    rmdirSync(mkdtempSync(join(folder, '.pointsman-')));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `the folder ${folder} cannot be made or written to (${why}); name another`;
    throw new ConfigError('serve', [{ path: flag, message }]);
  }
}

/** From the outermost on; Node's own `recursive` tries for ever where the system says ENOENT of a folder in one that exists. */
function missing(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [...missing(dirname(folder)), folder];
}
