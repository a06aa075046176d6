import { type Document, LineCounter, parseAllDocuments } from 'yaml';
import { ConfigError, type ConfigIssue, messageOf } from '../framework/error.ts';

/** Stops a few lines of aliases from expanding into gigabytes. */
const ALIASES_MAX = 100;

/**
 * YAML or JSON as a value; documents behind the first must be empty. Throws ConfigError with line and
 * column of the first syntax error.
 */
export function readYaml(text: string, source: string): unknown {
  const lineCounter = new LineCounter();
  const [document, ...others] = parsed(text, lineCounter, source);
  const errors = (document?.errors ?? []).map(({ pos, message }) => ({ at: pos[0], message }));
  const second = others.find((other) => !isEmpty(other));
  if (second !== undefined) {
    errors.push({ at: second.range[0], message: 'begins another document; keep one of them' });
  }
  if (errors.length > 0) {
    throw new ConfigError(source, syntaxIssues(errors, lineCounter));
  }
  try {
    return document?.toJS({ maxAliasCount: ALIASES_MAX }) ?? null;
  } catch (error) {
    // Aliases are resolved only here: one is undefined, or there are too many.
    const message = messageOf(error);
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
}

interface SyntaxFault {
  /** Characters before it. */
  readonly at: number;
  readonly message: string;
}

/** The first error, because most others follow from it: a file that is no YAML has hundreds. */
function syntaxIssues(
  [first, ...others]: readonly SyntaxFault[],
  lineCounter: LineCounter,
): readonly ConfigIssue[] {
  if (first === undefined) return [];
  const { line, col } = lineCounter.linePos(first.at);
  const more = others.length === 0 ? '' : ` (and ${others.length} more errors behind it)`;
  return [{ path: `line ${line}, column ${col}`, message: `${first.message}${more}` }];
}

function isEmpty({ contents }: Document.Parsed): boolean {
  return contents === null || ('value' in contents && contents.value === null);
}

/** Thousands of levels exhaust the stack of the parser, which says so by a RangeError. */
function parsed(
  text: string,
  lineCounter: LineCounter,
  source: string,
): readonly Document.Parsed[] {
  try {
    const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
    return Array.isArray(documents) ? documents : [];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(source, [
      { path: 'file', message: 'it is nested too deeply to be read' },
    ]);
  }
}
