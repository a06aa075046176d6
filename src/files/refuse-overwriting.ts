import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../framework/error.ts';

/**
 * Throws ConfigError where writing to `to` would take the place of something that is read from: of one of `inputs`, under
 * whatever name or link, or of a file of theirs where that is a folder; where `to` is a folder, and where it would be in one that
 * is not there. `example` is what a file of its kind may be called.
 */
export function refuseOverwriting(
  to: string,
  inputs: readonly string[],
  example = 'trace.jsonl.zst',
): void {
  const target = statSync(to, { throwIfNoEntry: false });
  const input = inputs.find((each) => isSame(to, each) || isSame(`${to}.partial`, each));
  if (input !== undefined) {
    throw fault(to, `is what is read from (${input}), and would be lost; name another file`);
  }
  if (target?.isDirectory() === true) {
    throw fault(to, `is a folder; name a file, such as ${join(to, example)}`);
  }
  const parent = dirname(to);
  if (statSync(parent, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw fault(
      to,
      `would be in ${parent}, which is no folder; make it first, or name another file`,
    );
  }
  const folder = inputs.find((each) => isSame(parent, each));
  // Beside what a capture has written there is room, in place of it there is none.
  if (folder !== undefined && target !== undefined) {
    const message = `is one of the files in ${folder}, which are read from; name another`;
    throw fault(to, message);
  }
}

/** By what the names lead to, links followed: not all disks tell small letters from capitals. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) =>
    statSync(path, { throwIfNoEntry: false, bigint: true }),
  );
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

function fault(path: string, message: string): ConfigError {
  return new ConfigError('trace', [{ path, message }]);
}
