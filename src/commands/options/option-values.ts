import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Millis } from '../../framework/runtime.ts';

/** Parsers for option values. They throw InvalidArgumentError with the value and its bounds. */

type NumberParser = (text: string) => number;

/** Some thousands of requests: a smaller file would be deleted before anyone can read it. */
const WRITTEN_BYTES_MIN = 1024 * 1024;

/** Gathers the values of an option that may be given several times. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

/** Gathers the values of an option whose value may be a list, separated by commas. */
export function commaSeparated(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(',').flatMap((each) => each.trim() || [])];
}

/** A number, also one below 0. Throws for anything else. */
export function anyNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`${text} is not a number.`);
}

export const notNegative: NumberParser = parserOf((n) => n >= 0, 'number of 0 or more');
export const above0: NumberParser = parserOf((n) => n > 0, 'number above 0');
export const wholeNumber: NumberParser = parserOf(
  (n) => Number.isSafeInteger(n) && n >= 0,
  'whole number of 0 or more',
);
export const atLeastOne: NumberParser = parserOf(
  (n) => Number.isSafeInteger(n) && n >= 1,
  'whole number of 1 or more',
);

/** For counts that are made at once, so that a typing error does not fill the memory. */
export function from1To(most: number): NumberParser {
  return parserOf(
    (n) => Number.isSafeInteger(n) && n >= 1 && n <= most,
    `whole number from 1 to ${most}`,
  );
}

function parserOf(fits: (value: number) => boolean, what: string): NumberParser {
  return (text) => {
    const value = anyNumber(text);
    if (fits(value)) return value;
    throw new InvalidArgumentError(`${text} is not a ${what}.`);
  };
}

/** A number above 0 and at most 1. */
export function share(text: string): number {
  const value = above0(text);
  if (value <= 1) return value;
  throw new InvalidArgumentError(`${text} is above 1; give a share such as 0.95.`);
}

/** From 0 to 100. */
export function percent(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 100) return value;
  throw new InvalidArgumentError(`${text} is not a percentage: give a number from 0 to 100.`);
}

/** An address to listen on: an IPv6 address may have the brackets of a URL. */
export function listenHost(text: string): string {
  return text.replace(/^\[(.*)\]$/, '$1');
}

/** A port from 0 to 65535. Throws for anything else. */
export function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError(`${text} is not a port: give a whole number from 0 to 65535.`);
}

/** The most bytes of files that are written and deleted in turn. */
export function writtenBytes(text: string): number {
  const value = wholeNumber(text);
  if (value >= WRITTEN_BYTES_MIN) return value;
  throw new InvalidArgumentError(`${text} bytes are too few; give at least ${WRITTEN_BYTES_MIN}.`);
}

/** `--plugin <file>`, which may be repeated. */
export function pluginOption(): Option {
  return new Option('--plugin <file>', 'module with plugin types, may be repeated; docs/plugins.md')
    .argParser(collect)
    .default([], 'none');
}

/** A flag without its dashes, and what it limits. The parsed value is named as the flag. */
export type TimeLimitFlag = readonly [flag: string, what: string];

/**
 * Adds `--<flag> <ms>` for each time limit, in the order of `flags`. 0 is no limit. A limit without
 * a flag would be undefined and so none: where `flags` is a `Record` of their names, the compiler
 * finds it.
 */
export function addTimeLimits<Name extends string>(
  command: Command,
  flags: Readonly<Record<Name, TimeLimitFlag>>,
  byDefaultMs: Readonly<Record<Name, Millis>>,
): void {
  for (const name of Object.keys(flags) as Name[]) {
    const [flag, what] = flags[name];
    command.option(`--${flag} <ms>`, `${what}; 0 is no limit`, wholeNumber, byDefaultMs[name]);
  }
}
