import { LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '../framework/error.ts';
import { configSchema, type EndpointPickerConfig } from './schema.ts';
import { zodIssues } from './zod-issues.ts';

/** 1 Mi, as the reference's file discovery; a configuration is a few thousand characters. */
const CONFIG_CHARACTERS_MAX = 1024 * 1024;
/** So that a few lines of aliases cannot unfold into gigabytes. */
const ALIASES_MAX = 100;

/** YAML or JSON text to a configuration of the right shape. Throws ConfigError with every issue in it. */
export function readConfig(text: string, source: string): EndpointPickerConfig {
  if (text.length > CONFIG_CHARACTERS_MAX) {
    const message = `has ${text.length} characters, more than ${CONFIG_CHARACTERS_MAX}`;
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
  const parsed = configSchema.safeParse(readYaml(text, source));
  if (!parsed.success) {
    throw new ConfigError(source, zodIssues(parsed.error, { schema: configSchema }));
  }
  return parsed.data;
}

function readYaml(text: string, source: string): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  if (document.errors.length > 0) {
    throw new ConfigError(
      source,
      document.errors.map(({ pos, message }) => {
        const { line, col } = lineCounter.linePos(pos[0]);
        return { path: `line ${line}, column ${col}`, message };
      }),
    );
  }
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    // Aliases are only followed here: one that means nothing, or too many.
    const message = error instanceof Error ? error.message : String(error);
    throw new ConfigError(source, [{ path: 'file', message }]);
  }
}
