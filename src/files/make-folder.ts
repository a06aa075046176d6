import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes a folder and those around it, where they are not there. Throws what the system says where that cannot be. */
export function makeFolder(folder: string): void {
  for (const path of missing(resolve(folder))) mkdirSync(path);
}

/** From the outermost on; Node's own `recursive` tries for ever where the system says ENOENT of a folder in one that exists. */
function missing(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [...missing(dirname(folder)), folder];
}
