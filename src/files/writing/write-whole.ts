import {
  closeSync,
  fstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { commandLineError } from '../../framework/error.ts';

/**
 * Writes a file from its pieces. What was at the path is replaced once all is written, and stays
 * after a failure. A link is followed. A pipe or a device gets the pieces as they come: a file in
 * its place would break whatever else uses it. Throws ConfigError for a path that cannot be
 * written.
 */
export function writeWhole(path: string, pieces: Iterable<string | Uint8Array>): void {
  try {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there?.isFile() === false) writeAll(path, pieces);
    else replace(there === undefined ? path : realpathSync(path), pieces);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    const message = `cannot be written: ${error.message}`;
    throw commandLineError(path, message);
  }
}

/** Whether a path such as /dev/stdout leads to this process's standard output. */
export function isStandardOutput(path: string): boolean {
  const [named, own] = [statSync(path), fstatSync(process.stdout.fd)];
  return named.dev === own.dev && named.ino === own.ino;
}

/** The name of the file that `writeWhole` writes before it replaces the one at `path`. */
export function partialOf(path: string): string {
  return `${path}.partial`;
}

function replace(path: string, pieces: Iterable<string | Uint8Array>): void {
  const partial = partialOf(path);
  try {
    writeAll(partial, pieces);
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

function writeAll(path: string, pieces: Iterable<string | Uint8Array>): void {
  const file = openSync(path, 'w');
  try {
    for (const piece of pieces) writeFileSync(file, piece);
  } finally {
    closeSync(file);
  }
}
