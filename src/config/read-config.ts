import { LineCounter, parseDocument } from 'yaml';
import type { ZodError } from 'zod';
import { ConfigError, type ConfigIssue } from '../framework/error.ts';
import { configSchema, type EndpointPickerConfig } from './schema.ts';

/** 1 MiB, as the reference's file discovery; a configuration is a few kilobytes. */
const CONFIG_BYTES_MAX = 1024 * 1024;

/** YAML or JSON text to a configuration of the right shape. Throws ConfigError with every issue in it. */
export function readConfig(text: string, source: string): EndpointPickerConfig {
  if (text.length > CONFIG_BYTES_MAX) {
    throw new ConfigError(source, [
      { path: 'file', message: `is ${text.length} bytes, more than ${CONFIG_BYTES_MAX}` },
    ]);
  }
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
  const parsed = configSchema.safeParse(document.toJS({ maxAliasCount: 100 }));
  if (!parsed.success) throw new ConfigError(source, zodIssues(parsed.error));
  return parsed.data;
}

/** zod's issues with paths as a person writes them, such as `plugins[0].weight`. */
export function zodIssues(error: ZodError, at = ''): readonly ConfigIssue[] {
  return error.issues.map(({ path, message }) => ({
    path: pathText(path, at) || '(top level)',
    message,
  }));
}

function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, at);
}
