import { z } from 'zod';
import { parseOrReport, unwrapped } from '../../files/reading/zod-issues.ts';
import type { ConfigIssue } from '../../framework/error.ts';
import type { Schema } from '../../framework/plugin.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import { sameParameters } from '../../picker/plan/same-parameters.ts';
import { withOlderParameters } from '../reference/older-releases.ts';
import { REFERENCE_TYPES, WITHOUT_PARAMETERS } from '../reference/reference-table.ts';
import { asGoReads } from '../schema/as-go-reads.ts';
import type { PluginEntry } from '../schema/schema.ts';

interface ReadOptions {
  /** Such as `plugins[0].parameters`. */
  readonly path: string;
  readonly issues: ConfigIssue[];
  readonly notes: ConfigNote[];
}

/**
 * Reads a plugin's parameters. A type that the reference picker has reads them as it does:
 * names in any case, null for what is not set, and no error about any parameter of a type that
 * reads none. Adds errors to `issues` and returns undefined.
 */
export function readParameters<T>(
  schema: Schema<T>,
  entry: PluginEntry,
  options: ReadOptions,
): { readonly parsed: T; readonly given: object } | undefined {
  const issues: ConfigIssue[] = [];
  const read = readOrReport(schema, entry, { ...options, issues });
  options.issues.push(...withOlderParameters(issues, entry.type, options.path));
  return read;
}

/** The parsed values, where the schema reads them back alike; else the given ones, as durations. */
export function writtenParameters(
  schema: Schema<unknown>,
  { parsed, given }: { readonly parsed: unknown; readonly given: unknown },
): unknown {
  try {
    const again = schema.parse(JSON.parse(JSON.stringify(parsed)));
    return sameParameters(again, parsed) ? parsed : given;
  } catch {
    return given;
  }
}

function readOrReport<T>(
  schema: Schema<T>,
  { type, parameters }: PluginEntry,
  { path, issues, notes }: ReadOptions,
): { readonly parsed: T; readonly given: object } | undefined {
  const written = parameters ?? {};
  if (!REFERENCE_TYPES.has(type)) return withGiven(schema, written, path, issues);
  const named = asGoReads(written, schema, 'any case') as Readonly<Record<string, unknown>>;
  if (!WITHOUT_PARAMETERS.has(type)) return withGiven(schema, named, path, issues);
  const object = unwrapped(schema);
  const known = object instanceof z.ZodObject ? Object.keys(object.shape) : [];
  for (const name of Object.keys(named).filter((each) => !known.includes(each))) {
    const at = `${path}.${name}`;
    const text = `${at} has no effect: ${type} has no such parameter; leave it out`;
    notes.push({ path: at, reason: 'no-such-parameter', text });
  }
  const kept = Object.entries(named).filter(([name]) => known.includes(name));
  return withGiven(schema, Object.fromEntries(kept), path, issues);
}

function withGiven<T>(
  schema: Schema<T>,
  given: object,
  path: string,
  issues: ConfigIssue[],
): { readonly parsed: T; readonly given: object } | undefined {
  const read = parseOrReport(schema, given, path, issues);
  return read && { parsed: read.parsed, given };
}
