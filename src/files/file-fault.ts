import { messageOf } from '../framework/error.ts';

/** What the codes of the system mean, as the end of a sentence that begins with the path. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EEXIST: 'exists already, and is no folder',
  EISDIR: 'is a folder',
  ENOTDIR: 'leads through something that is no folder',
  EACCES: 'may not be used by this user',
  EPERM: 'may not be used by this user',
  EROFS: 'is on a disk that cannot be written to',
  ENOSPC: 'does not fit: the disk is full',
};

/** Undefined for an error that is none of a file that the user can mend. */
export function knownFileFault(error: unknown): string | undefined {
  const { code } = error as Partial<NodeJS.ErrnoException>;
  return code === undefined ? undefined : FAULTS[code];
}

/** Why a file cannot be read or written: in plain words where the code is known. */
export function fileFault(error: unknown): string {
  return knownFileFault(error) ?? messageOf(error);
}
