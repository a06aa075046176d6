import { LineCounter, parseDocument } from 'yaml';
import { ConfigError, messageOf } from '../framework/error.ts';

/** Stops a few lines of aliases from expanding into gigabytes. */
const ALIASES_MAX = 100;

/** YAML or JSON as a value. Throws ConfigError with line and column of every syntax error. */
export function readYaml(text: string, source: string): unknown {
  const lineCounter = new LineCounter();
  const document = parsed(text, lineCounter, source);
  if (document.errors.length > 0) {
    const issues = document.errors.map(({ pos, message }) => {
      const { line, col } = lineCounter.linePos(pos[0]);
      return { path: `line ${line}, column ${col}`, message };
    });
    throw new ConfigError(source, issues);
  }
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    // Aliases are resolved only here: one is undefined, or there are too many.
    const message = messageOf(error);
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
}

/** Thousands of levels exhaust the stack of the parser, which says so by a RangeError. */
function parsed(
  text: string,
  lineCounter: LineCounter,
  source: string,
): ReturnType<typeof parseDocument> {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(source, [
      { path: 'file', message: 'it is nested too deeply to be read' },
    ]);
  }
}
