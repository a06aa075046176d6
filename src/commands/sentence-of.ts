/** By name: from a thread of ours an error comes without its class. */
const SENTENCES: ReadonlySet<string> = new Set(['ConfigError', 'TraceError', 'ListenError']);

const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EEXIST: 'is there already, and is no folder',
  EISDIR: 'is a folder',
  ENOTDIR: 'leads through something that is no folder',
  EACCES: 'may not be used by this user',
  EPERM: 'may not be used by this user',
  EROFS: 'is on a disk that cannot be written to',
  ENOSPC: 'does not fit: the disk is full',
};

/** What to tell the user of a fault that is his to mend; undefined for one of ours, whose stack is worth more. */
export function sentenceOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (SENTENCES.has(error.name)) return error.message;
  const { code, path } = error as NodeJS.ErrnoException;
  const fault = code === undefined ? undefined : FILE_FAULTS[code];
  // Reading a folder is the one fault whose path the system does not tell.
  if (fault === undefined || (path === undefined && code !== 'EISDIR')) return undefined;
  return `${path ?? 'what was given as a file'}: ${fault}`;
}
