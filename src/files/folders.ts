import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigError, messageOf } from '../framework/error.ts';
import { knownFileFault } from './file-fault.ts';

/** The absolute path of a shipped file, such as `deploy/envoy.yaml`, from sources or `dist`. */
export function packageFile(path: string): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`${path}: no package.json above ${import.meta.dirname}`);
    folder = parent;
  }
  return join(folder, path);
}

/**
 * The absolute path of a part of the program that begins by itself, such as `src/main`: its source
 * where the sources run, otherwise the build. The build is listed in rolldown.config.js.
 */
export function programFile(name: string): string {
  const runsSources = import.meta.filename.endsWith('.ts');
  return packageFile(runsSources ? `${name}.ts` : `dist/${name}.js`);
}

/** The version of this package. */
export function packageVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** Modes of what only the user may read that runs the program. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/**
 * Makes a folder and its missing parents with this mode, where one is given. Throws the system's
 * error where one cannot be made.
 */
export function makeFolder(folder: string, mode?: number): void {
  for (const path of missing(resolve(folder))) mkdirSync(path, { mode });
}

/** The outermost first. Node's `recursive` retries without end where the parent gives ENOENT. */
function missing(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [...missing(dirname(folder)), folder];
}

/** Makes a folder as `makeFolder` does. Throws the system's error also where it is not writable. */
export function makeWritableFolder(folder: string, mode?: number): void {
  makeFolder(folder, mode);
  // An attempt shows it, and the mode does not, for example in /proc.
  rmdirSync(mkdtempSync(join(folder, '.pointsman-')));
}

/**
 * Makes the folder that `flag` names, as `makeFolder` does. Throws ConfigError where it cannot be
 * made or written to.
 */
export function requireFolder(flag: string, folder: string, mode?: number): void {
  try {
    makeWritableFolder(folder, mode);
  } catch (error) {
    const message = `the folder ${folder} cannot be made or written to (${whyNot(error)}); name another`;
    throw new ConfigError('serve', [{ path: flag, message }]);
  }
}

/**
 * Why the folder cannot be used. ENOENT says only that it is missing, which is why it was to be
 * made.
 */
function whyNot(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const known = code === 'ENOENT' ? undefined : knownFileFault(error);
  return known === undefined ? messageOf(error) : `it ${known}`;
}
