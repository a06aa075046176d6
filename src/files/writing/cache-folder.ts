import { homedir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../framework/error.ts';
import { makeWritableFolder } from '../folders.ts';

/** Contains what is fetched, outside the tree: `pointsman` in `XDG_CACHE_HOME` or `~/.cache`. */
export function cacheFolder(): string {
  const base = process.env['XDG_CACHE_HOME'];
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'pointsman');
}

/** Makes `cacheFolder()` or a folder in it. Throws an error that says what to do. */
export function makeCacheFolder(folder: string = cacheFolder()): void {
  try {
    makeWritableFolder(folder);
  } catch (error) {
    throw new Error(
      `the cache folder ${folder} cannot be made or written to (${messageOf(error)}): let XDG_CACHE_HOME name a folder that can`,
      { cause: error },
    );
  }
}
