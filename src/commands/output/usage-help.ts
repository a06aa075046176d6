import { type Command, Help, Option } from 'commander';
import { firstOf } from '../../framework/values/first-of.ts';
import { EXAMPLES } from './examples.ts';

/**
 * The least room for the text of an option, beside the longest name of one, in which lines are
 * wrapped.
 */
const WRAPPED_CHARS_MIN = 20;
/** Options that an error names at most. */
const NAMED_MAX = 5;

/**
 * Has a command and those below it say what a person can do with it: help without defaults that
 * say nothing, and after an error the command that lists what is possible. `path` is what a person
 * types before the command's own name.
 */
export function describeUsage(command: Command, path = ''): void {
  const name = `${path}${command.name()}`;
  const parts = command.commands.length > 0 ? 'commands' : 'options';
  const examples = EXAMPLES[name.replace(/^pointsman /, '')] ?? [];
  command
    .configureHelp({
      optionDescription: describe,
      commandDescription: (each) => withExamples(each.description(), examples),
      minWidthToWrap: WRAPPED_CHARS_MIN,
    })
    .configureOutput({
      outputError: (text, write) =>
        write(
          otherOptions(text, command) ??
            strayWords(text, command) ??
            `${text}${exampleAfter(text, examples)}`,
        ),
    })
    .showHelpAfterError(`\`${name} --help\` lists its ${parts}`);
  for (const each of command.commands) describeUsage(each, `${name} `);
}

function withExamples(description: string, examples: readonly string[]): string {
  return [description, ...examples.map((line, at) => `${at === 0 ? '\n' : ''}  ${line}`)].join(
    '\n',
  );
}

/** Where something that a command needs is missing, a whole command line says most. */
function exampleAfter(text: string, [example]: readonly string[]): string {
  const lacks = /required option|missing required argument/.test(text);
  return lacks && example !== undefined ? `for example: ${example}\n` : '';
}

/** What an option does, with its default where that says something. */
function describe(option: Option): string {
  const { defaultValue, defaultValueDescription } = option;
  const isEmpty = defaultValue instanceof Object && Object.keys(defaultValue).length === 0;
  if (defaultValue !== false && !isEmpty && defaultValueDescription !== 'none') {
    return new Help().optionDescription(withDefault(option));
  }
  return new Help().optionDescription(copyOf(option).default(undefined));
}

/** Several values are shown as they are typed. */
function withDefault(option: Option): Option {
  const { defaultValue } = option;
  if (!Array.isArray(defaultValue)) return option;
  return copyOf(option).default(defaultValue, defaultValue.join(','));
}

function copyOf(option: Option): Option {
  return Object.assign(new Option(option.flags), option);
}

/**
 * An error about an option that is not there, with those whose names have all of its words:
 * `--port` where there is `--metrics-port`. Undefined for other errors, and where there are none.
 */
function otherOptions(text: string, { options }: Command): string | undefined {
  const [, given] = /unknown option '--([a-z-]+)/i.exec(text) ?? [];
  if (given === undefined) return undefined;
  const wanted = inKebabCase(given);
  // Commander says so of a switch that is given a value.
  if (options.some((option) => option.isBoolean() && option.name() === given)) {
    return `error: '--${given}' takes no value: write it alone, or leave it out\n`;
  }
  const names = options.filter(({ hidden }) => !hidden).map((option) => option.name());
  const has = (name: string): boolean =>
    name.startsWith(wanted) ||
    lettersOf(name) === lettersOf(wanted) ||
    wanted.split('-').every((word) => wordsOf(name).has(word));
  const begins = (name: string): number => (name.startsWith(wanted) ? 0 : 1);
  const like = names
    .filter(has)
    .toSorted((a, b) => begins(a) - begins(b) || a.length - b.length)
    .slice(0, NAMED_MAX);
  if (like.length === 0) return undefined;
  const one = like.length === 1 ? '' : 'one of ';
  const hint = `(Did you mean ${one}${like.map((name) => `--${name}`).join(', ')}?)`;
  return `error: unknown option '--${given}'\n${hint}\n`;
}

function lettersOf(name: string): string {
  return name.replaceAll('-', '');
}

/** Flags of other programs, and those of older releases of the reference picker, are in camel case. */
function inKebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * An error about words that belong to no option, mostly the rest of a value with spaces. Undefined
 * for other errors.
 */
function strayWords(text: string, command: Command): string | undefined {
  if (!text.includes('too many arguments')) return undefined;
  const stray = command.args.slice(command.registeredArguments.length);
  const { shown, more } = firstOf(stray, NAMED_MAX);
  const words = `${shown.map((word) => JSON.stringify(word)).join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
  return `error: no option of ${command.name()} takes ${words}: separate several values by commas, and quote a value with spaces\n`;
}

function wordsOf(name: string): ReadonlySet<string> {
  return new Set(name.split('-'));
}
