import { z } from 'zod';
import type { ConfigIssue } from '../framework/error.ts';
import { nearest } from './nearest.ts';

export interface ZodIssuesOptions {
  /** The schema that found them: it knows the names a wrong one may have meant. */
  readonly schema: unknown;
  /** Where the parsed value stands, such as `plugins[0].parameters`. */
  readonly at?: string;
}

/** zod's issues as a person would write them: a path such as `plugins[0].weight`, one issue for each unknown name. */
export function zodIssues(
  error: z.ZodError,
  { schema, at = '' }: ZodIssuesOptions,
): readonly ConfigIssue[] {
  return error.issues.flatMap((issue) => {
    const path = pathText(issue.path, at);
    if (issue.code === 'unrecognized_keys') {
      const known = namesAt(schema, issue.path);
      return issue.keys.map((key) => ({
        path: pathText([...issue.path, key], at),
        message: `is not a known field${nearest(key, known)}`,
      }));
    }
    const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
    const message = missing ? `is missing (expected ${issue.expected})` : issue.message;
    return [{ path: path || '(top level)', message }];
  });
}

function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, at);
}

/** The fields of the object that stands at `path`. */
function namesAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  let found = bare(schema);
  for (const key of path) {
    if (found instanceof z.ZodObject) found = bare(found.shape[String(key)]);
    else if (found instanceof z.ZodArray) found = bare(found.element);
    else return [];
  }
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

/** Without what makes it optional, gives it a default or transforms what it read. */
function bare(schema: unknown): unknown {
  if (schema instanceof z.ZodPipe) return bare(schema.def.in);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  ) {
    return bare(schema.unwrap());
  }
  return schema;
}
