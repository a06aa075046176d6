import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { ConfigError, type ConfigIssue, messageOf } from '../../framework/error.ts';
import { checkExpansion, LEVELS_MAX, tooDeepAt, tooDeepIn } from './yaml-bounds.ts';
import { keyFaults } from './yaml-keys.ts';

/** Each is looked up among all anchors and aliases. */
const ALIASES_MAX = 1000;
const EXCESSIVE = `uses an anchor more than ${ALIASES_MAX} times, with what other aliases repeat; write some of it out`;
/**
 * Composing stops there: a file that is no YAML has one for each line, and only the first is shown.
 */
const FAULTS_MAX = 100;

/**
 * YAML or JSON as a value, with what `<<` merges; documents behind the first must be empty.
 * `scalars` are looked at before those of YAML 1.2. Throws ConfigError with line and column of the
 * first syntax error.
 */
export function readYaml(
  text: string,
  source: string,
  scalars: readonly (Yaml.ScalarTag | Yaml.CollectionTag)[] = [],
): unknown {
  if (text.includes('\0')) {
    const message = 'is not UTF-8 text: it has zero bytes, as UTF-16 has; save it as UTF-8';
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const lineCounter = new (yamlLibrary().LineCounter)();
  const errors: SyntaxFault[] = [];
  const [document, ...others] = parsed(text, { lineCounter, errors, source, scalars });
  errors.push(...(document ? keyFaults(document, yamlLibrary(), FAULTS_MAX + 1) : []));
  const second = others.find((other) => !isEmpty(other));
  if (second !== undefined) {
    errors.push({ at: second.range[0], message: 'begins another document; keep one of them' });
  }
  if (errors.length > 0) {
    throw new ConfigError(source, syntaxIssues(errors, lineCounter));
  }
  try {
    const value: unknown = document?.toJS({ maxAliasCount: ALIASES_MAX }) ?? null;
    checkExpansion(value);
    return value;
  } catch (error) {
    // Aliases are resolved only here: one is undefined, or there are too many.
    const message = messageOf(error).replace(/^Excessive alias count.*/, EXCESSIVE);
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
}

interface SyntaxFault {
  /** Characters before it. */
  readonly at: number;
  readonly message: string;
}

/** Where the library finds a fault: a number of characters, a range of them, or a token. */
type FaultPlace = number | readonly [number, ...unknown[]] | { readonly offset: number };

function offsetOf(place: FaultPlace): number {
  if (typeof place === 'number') return place;
  return 'offset' in place ? place.offset : place[0];
}

let loaded: typeof Yaml | undefined;

/** 72 files, a tenth of the start of a picker that reads none. */
export function yamlLibrary(): typeof Yaml {
  loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml;
  return loaded;
}

class TooManyFaults extends Error {}

/** The first error, because most others follow from it: a file that is no YAML has hundreds. */
function syntaxIssues(
  [first, ...others]: readonly SyntaxFault[],
  lineCounter: Yaml.LineCounter,
): readonly ConfigIssue[] {
  if (first === undefined) return [];
  const { line, col } = lineCounter.linePos(first.at);
  const count = others.length < FAULTS_MAX ? others.length : `at least ${FAULTS_MAX}`;
  const noun = others.length === 1 ? 'error' : 'errors';
  const more = others.length === 0 ? '' : ` (and ${count} more ${noun} behind it)`;
  return [{ path: `line ${line}, column ${col}`, message: `${first.message}${more}` }];
}

function isEmpty({ contents }: Yaml.Document.Parsed): boolean {
  return contents === null || ('value' in contents && contents.value === null);
}

interface ParsedParts {
  readonly lineCounter: Yaml.LineCounter;
  /** Gets those of the first document. */
  readonly errors: SyntaxFault[];
  readonly source: string;
  readonly scalars: readonly (Yaml.ScalarTag | Yaml.CollectionTag)[];
}

/** The documents of a text, up to where it has too many faults. Throws ConfigError if too deep. */
function parsed(text: string, parts: ParsedParts): readonly Yaml.Document.Parsed[] {
  const { lineCounter, source } = parts;
  const documents: Yaml.Document.Parsed[] = [];
  const composer = composerOf(parts, documents);
  const message = `is nested deeper than ${LEVELS_MAX} levels`;
  try {
    for (const token of tokensOf(text, lineCounter)) {
      const at = typeof token === 'number' ? token : tooDeepAt(token);
      if (at !== undefined) {
        throw new ConfigError(source, syntaxIssues([{ at, message }], lineCounter));
      }
      if (typeof token !== 'number') documents.push(...composer.next(token));
    }
    documents.push(...composer.end());
    return documents;
  } catch (error) {
    if (error instanceof TooManyFaults) return documents;
    // Some text that is no YAML makes the parser itself recurse.
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
}

/**
 * The parts of a text, and in their place, as a number of characters, the first list or map that is
 * nested too deeply: what follows is not read, which would take long.
 */
function* tokensOf(
  text: string,
  lineCounter: Yaml.LineCounter,
): Generator<Yaml.CST.Token | number, void> {
  const { Lexer, Parser } = yamlLibrary();
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    const at = tooDeepIn(parser.stack);
    if (at !== undefined) yield at;
  }
  yield* parser.end();
}

/** Makes documents of tokens. Throws TooManyFaults past `FAULTS_MAX` faults of the first. */
function composerOf(
  { lineCounter, errors, scalars }: ParsedParts,
  documents: readonly unknown[],
): Yaml.Composer {
  const composer = new (yamlLibrary().Composer)({
    lineCounter,
    prettyErrors: false,
    uniqueKeys: false,
    merge: true,
    customTags: (tags) => [...scalars, ...tags],
  });
  // The library has no limit of its own, and makes an error with a stack for each fault.
  return Object.assign(composer, {
    onError: (at: FaultPlace, _code: string, message: string, isWarning = false): void => {
      if (isWarning || documents.length > 0) return;
      errors.push({ at: offsetOf(at), message });
      if (errors.length > FAULTS_MAX) throw new TooManyFaults();
    },
  });
}
