import { pathToFileURL } from 'node:url';
import { knownFileFault } from '../../files/file-fault.ts';
import { packageFile } from '../../files/folders.ts';

/** A command was used correctly and failed. The message is a sentence for the user. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure';
}

/** An address that a command was given cannot be one. */
export class WrongAddress extends CommandFailure {
  override readonly name: string = 'WrongAddress';
}

export interface ErrorReport {
  readonly sentence: string;
  /** 2 if an argument or a file cannot be used, 1 if the command failed otherwise. */
  readonly exitCode: 1 | 2;
}

/** Exit codes by the error's name: an error from a worker thread arrives without its class. */
const EXIT_CODES: ReadonlyMap<string, ErrorReport['exitCode']> = new Map([
  ['CommandFailure', 1],
  ['ConfigError', 2],
  ['ListenError', 2],
  ['PluginFailure', 1],
  ['TraceError', 2],
  ['UnreadableFile', 2],
  ['WrongAddress', 2],
]);

/**
 * The sentence for an error that the user can correct. Undefined for an error whose stack is
 * needed.
 */
export function reportOf(error: unknown): ErrorReport | undefined {
  if (!(error instanceof Error)) return undefined;
  const exitCode = EXIT_CODES.get(error.name);
  if (exitCode !== undefined)
    return { sentence: [error.message, ...framesOutside(error.cause)].join('\n'), exitCode };
  const { code, path } = error as NodeJS.ErrnoException;
  const fault = knownFileFault(error);
  // The system names the path, except of a folder that is read as a file.
  if (fault === undefined || (path === undefined && code !== 'EISDIR')) return undefined;
  return { sentence: `${path ?? 'the file that was given'}: ${fault}`, exitCode: 2 };
}

/** Where the program itself is, from sources and built. */
const PROGRAM = ['src', 'scorers', 'dist'];

/** Those frames of the stack that are in a module of the user, where the fault can be mended. */
function framesOutside(cause: unknown): readonly string[] {
  if (!(cause instanceof Error)) return [];
  const ours = PROGRAM.map((folder) => `${pathToFileURL(packageFile(folder)).href}/`);
  return (cause.stack ?? '').split('\n').filter((line) => {
    return /^ +at .*file:/.test(line) && !ours.some((folder) => line.includes(folder));
  });
}
