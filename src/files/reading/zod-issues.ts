import { z } from 'zod';
import { type ConfigIssue, messageOf } from '../../framework/error.ts';
import { nearest } from './nearest.ts';

/** What the bounds of texts and lists count; those of numbers count nothing. */
const COUNTED: Readonly<Record<string, string>> = {
  string: 'characters',
  array: 'items',
  set: 'items',
  map: 'entries',
};

/** Types by zod's names for them, as a sentence has them. */
const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  bigint: 'a whole number',
  boolean: 'true or false',
  int: 'a whole number',
  nan: 'not a number',
  number: 'a number',
  object: 'a map with fields',
  record: 'a map with fields',
  string: 'a string',
};
/** Zod's own text about a type. */
const WRONG_TYPE = /^Invalid input: expected \w+, received (-?\w+)$/;

/** What is said of one for which there is no other name, and no other place. */
export const UNKNOWN_FIELD = 'is not a known field';

/** `at` is the path of the parsed value, such as `plugins[0].parameters`. */
export function zodIssues(
  error: z.ZodError,
  { schema, at = '' }: { readonly schema: unknown; readonly at?: string },
): readonly ConfigIssue[] {
  return error.issues.flatMap((issue) => {
    const path = pathText(issue.path, at);
    if (issue.code === 'unrecognized_keys') {
      const known = namesAt(schema, issue.path);
      return issue.keys.map((key) => ({
        path: pathText([...issue.path, key], at),
        message: `${UNKNOWN_FIELD}${nearest(key, known) || placeOf(key, schema)}`,
      }));
    }
    const missing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
    const message = missing
      ? `is missing (expected ${typeText(issue.expected)})`
      : issueText(issue);
    return [{ path: path || '(top level)', message }];
  });
}

/** What is wrong, as the end of a sentence that begins with the value's name. */
export function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value' && /^Invalid (option|input): /.test(issue.message)) {
    const values = issue.values.map((each) =>
      typeof each === 'string' ? `"${each}"` : `${String(each)}`,
    );
    return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
  }
  if (issue.code === 'invalid_type') {
    const received = WRONG_TYPE.exec(issue.message)?.[1];
    if (received === undefined) return issue.message;
    if (issue.expected === 'int' && received === 'number') return 'must be a whole number';
    return `must be ${typeText(issue.expected)}, not ${typeText(received)}`;
  }
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') return formsText(issue);
  if (issue.code === 'invalid_format' && issue.message === 'Invalid URL') return 'must be a URL';
  // A schema's own text stays.
  if (!/^Too (small|big): /.test(issue.message)) return issue.message;
  if (issue.code === 'too_small') {
    return boundText(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue);
  }
  if (issue.code === 'too_big') {
    return boundText(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue);
  }
  return issue.message;
}

function typeText(type: string): string {
  return TYPES[type] ?? type;
}

/** What each of the forms misses that the value may have. */
function formsText({ errors }: z.core.$ZodIssueInvalidUnion): string {
  const texts = errors.flatMap(([first]) => {
    if (first === undefined) return [];
    const text = issueText(first);
    return first.path.length > 0 ? [`${pathText(first.path, '')} ${text}`] : [text];
  });
  const types = texts.map((text) => /^must be (.+), not .+$/.exec(text)?.[1]);
  if (types.length > 0 && types.every((type) => type !== undefined)) {
    return `must be ${types.join(' or ')}`;
  }
  return texts.length > 0 ? texts.join(', or ') : 'fits no form that it may have';
}

function boundText(
  how: string,
  bound: number | bigint,
  { origin }: { readonly origin: string },
): string {
  const counted = COUNTED[origin];
  if (counted !== undefined && how === 'at least' && bound === 1) return 'must not be empty';
  return counted === undefined ? `must be ${how} ${bound}` : `must have ${how} ${bound} ${counted}`;
}

/** Where `value`, at the path `at`, does not fit the schema, adds issues and returns undefined. */
export function parseOrReport<T>(
  schema: { parse(value: unknown): T },
  value: unknown,
  at: string,
  issues: ConfigIssue[],
): { readonly parsed: T } | undefined {
  try {
    return { parsed: schema.parse(value) };
  } catch (error) {
    const found =
      error instanceof z.ZodError
        ? zodIssues(error, { schema, at })
        : [{ path: at, message: messageOf(error) }];
    // They are not spread into one call: a call takes fewer arguments than there may be issues.
    for (const issue of found) issues.push(issue);
    return undefined;
  }
}

function pathText(path: readonly PropertyKey[], at: string): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, at);
}

/** The field names of the object at `path`; none where `schema` has no object there. */
function namesAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  let found = unwrapped(schema);
  for (const key of path) {
    if (found instanceof z.ZodObject) found = unwrapped(found.shape[String(key)]);
    else if (found instanceof z.ZodArray) found = unwrapped(found.element);
    else return [];
  }
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

/** Deeper than any configuration; a schema may contain itself. */
const DEPTH_MAX = 8;

/** Where `schema` has a field of that name, in it or in its maps; empty where that is no one place. */
function placeOf(name: string, schema: unknown): string {
  const places = placesOf(name, unwrapped(schema), []);
  return places.length === 1 ? ` (did you mean ${places[0]}?)` : '';
}

function placesOf(name: string, schema: unknown, path: readonly string[]): readonly string[] {
  if (!(schema instanceof z.ZodObject) || path.length >= DEPTH_MAX) return [];
  return Object.entries(schema.shape).flatMap(([field, inner]) => {
    const here = [...path, field];
    const below = placesOf(name, unwrapped(inner), here);
    return field === name ? [here.join('.'), ...below] : below;
  });
}

/** The schema without what makes it optional, gives it a default or transforms its output. */
export function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodPipe) return unwrapped(schema.def.in);
  const wraps =
    schema instanceof z.ZodLazy ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault;
  return wraps ? unwrapped(schema.unwrap()) : schema;
}
