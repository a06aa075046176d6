import { InvalidArgumentError, Option } from 'commander';

/** Parsers for option values. They throw InvalidArgumentError with the value and its bounds. */

/** Gathers the values of an option that may be given several times. */
export function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

export function anyNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`${text} is not a number.`);
}

export function notNegative(text: string): number {
  const value = anyNumber(text);
  if (value >= 0) return value;
  throw new InvalidArgumentError(`${text} is not a number of 0 or more.`);
}

export function above0(text: string): number {
  const value = anyNumber(text);
  if (value > 0) return value;
  throw new InvalidArgumentError(`${text} is not a number above 0.`);
}

/** A number above 0 and at most 1. */
export function share(text: string): number {
  const value = above0(text);
  if (value <= 1) return value;
  throw new InvalidArgumentError(`${text} is above 1; give a share such as 0.95.`);
}

export function wholeNumber(text: string): number {
  const value = anyNumber(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError(`${text} is not a whole number of 0 or more.`);
}

export function atLeastOne(text: string): number {
  const value = anyNumber(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError(`${text} is not a whole number of 1 or more.`);
}

export function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= 65_535) return value;
  throw new InvalidArgumentError(`${text} is not a port: give a whole number from 0 to 65535.`);
}

/** `--plugin <file>`, which may be repeated. */
export function pluginOption(): Option {
  return new Option(
    '--plugin <file>',
    'module with plugin types of your own, may be repeated; see docs/plugins.md',
  )
    .argParser(collect)
    .default([], 'none');
}
