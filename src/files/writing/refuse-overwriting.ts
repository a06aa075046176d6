import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandLineError } from '../../framework/error.ts';
import { partialOf } from './write-whole.ts';

/** Throws ConfigError where `to` is a folder, in no folder, or one of `inputs` or in theirs. */
export function refuseOverwriting(
  to: string,
  inputs: readonly string[],
  example = 'trace.jsonl.zst',
): void {
  const refuse = (message: string): never => {
    throw commandLineError(to, message);
  };
  const input = inputs.find((each) => isSame(to, each) || isSame(partialOf(to), each));
  if (input !== undefined) {
    refuse(`is the input ${input}, which writing would destroy; name another file`);
  }
  if (isFolder(to)) refuse(`is a folder; name a file, such as ${join(to, example)}`);
  const parent = dirname(to);
  if (!isFolder(parent)) {
    refuse(`would be in ${parent}, which is not a folder; make it first, or name another file`);
  }
  // New files may be written beside those of a capture, but not in place of one.
  const exists = statSync(to, { throwIfNoEntry: false }) !== undefined;
  const folder = exists ? inputs.find((each) => isSame(parent, each)) : undefined;
  if (folder !== undefined) {
    refuse(`is a file of the input folder ${folder}; name another file`);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Compares what the names lead to, links followed: some disks ignore the case of letters. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) =>
    statSync(path, { throwIfNoEntry: false, bigint: true }),
  );
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}
