/** A command was used correctly and failed: exit code 1. The message is the sentence for the user. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

export interface ErrorReport {
  readonly sentence: string;
  /** 2 where an argument or a file that was given cannot be used, 1 where the command failed otherwise. */
  readonly exitCode: 1 | 2;
}

/** Exit codes by the error's name: an error from a worker thread arrives without its class. */
const EXIT_CODES: ReadonlyMap<string, ErrorReport['exitCode']> = new Map([
  ['CommandFailure', 1],
  ['ConfigError', 2],
  ['ListenError', 2],
  ['TraceError', 2],
]);

const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EEXIST: 'exists already, and is no folder',
  EISDIR: 'is a folder',
  ENOTDIR: 'leads through something that is no folder',
  EACCES: 'may not be used by this user',
  EPERM: 'may not be used by this user',
  EROFS: 'is on a disk that cannot be written to',
  ENOSPC: 'does not fit: the disk is full',
};

/** What the user gets to read of an error that the user can mend; undefined for an error of ours, which needs its stack. */
export function reportOf(error: unknown): ErrorReport | undefined {
  if (!(error instanceof Error)) return undefined;
  const exitCode = EXIT_CODES.get(error.name);
  if (exitCode !== undefined) return { sentence: error.message, exitCode };
  const { code, path } = error as NodeJS.ErrnoException;
  const fault = code === undefined ? undefined : FILE_FAULTS[code];
  // Reading a folder is the one fault whose path the system does not name.
  if (fault === undefined || (path === undefined && code !== 'EISDIR')) return undefined;
  return { sentence: `${path ?? 'the file that was given'}: ${fault}`, exitCode: 2 };
}
