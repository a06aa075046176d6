import { commandLineError } from '../../framework/error.ts';
import { flagError } from './reference-flags.ts';

export interface GivenFlag {
  readonly name: string;
  readonly value: string;
  /** The value is an empty word of its own, which a switch leaves alone. */
  readonly isEmptyWord?: boolean;
}

/** The value of a flag without one. */
export const SWITCHED_ON = 'true';

/** Most who write -v alone want the version. */
const NO_LEVEL = 'needs a level of the log, such as -v=4; `pointsman --version` prints the version';

const VERBOSITY = /^-v(\d+)$/;
/** A single dash is the same as two, as in Go's flag package. */
const FLAG = /^--?([^=\s-][^=\s]*)(?:=(.*))?$/s;

/** Dashes that no name follows, such as `---x` and `--=x`. */
const BAD_FLAG = /^(?:---|--=|-=)/;

/**
 * The name of the flag that a word is; undefined for another word. Throws ConfigError for `---x`.
 */
export function goFlagName(word: string): string | undefined {
  if (BAD_FLAG.test(word)) {
    const message = 'is not a flag: write two dashes and its name, such as --grpc-port=9002';
    throw commandLineError(word, message);
  }
  return VERBOSITY.test(word) ? 'v' : FLAG.exec(word)?.[1];
}

/**
 * Reads a flag as Go's pflag does. Takes its value from `left`, the words behind it, where it needs
 * one and has none. Throws ConfigError where there is none to take.
 */
export function readGoFlag(
  word: string,
  left: string[],
  isSwitch: (name: string) => boolean,
): GivenFlag {
  const [, verbosity] = VERBOSITY.exec(word) ?? [];
  if (verbosity !== undefined) return { name: 'v', value: verbosity };
  const [, name = '', value] = FLAG.exec(word) ?? [];
  if (value !== undefined) return { name, value };
  if (isSwitch(name)) return { name, value: SWITCHED_ON };
  const next = left.shift();
  if (next === undefined) throw flagError(name, name === 'v' ? NO_LEVEL : 'needs a value');
  return { name, value: next };
}
