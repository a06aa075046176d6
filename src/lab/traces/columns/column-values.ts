import { isPlainObject, type PlainObject } from '../../../framework/values/plain-object.ts';

/** The names that an error message has at most. */
const NAMES_MAX = 24;
/** Objects within objects, in which fields are named. */
const DEPTH_MAX = 4;

/** How programs write that there is no value. */
const NONE: ReadonlySet<string> = new Set(['', '-', 'null', 'none', 'nan', 'n/a', 'undefined']);

/**
 * The value of a field that is named as it is or, within objects, with points between the names, as
 * `usage.prompt_tokens`; undefined where it is not there.
 */
export function fieldOf(object: PlainObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  for (let dot = name.indexOf('.'); dot > 0; dot = name.indexOf('.', dot + 1)) {
    const outer = name.slice(0, dot);
    const within = Object.hasOwn(object, outer) ? object[outer] : undefined;
    const value = isPlainObject(within) ? fieldOf(within, name.slice(dot + 1)) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The value as a text; undefined where there is none. */
export function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).trim();
  return NONE.has(text.toLowerCase()) ? undefined : text;
}

/** The names of the fields that hold one value each, those within objects with points. */
export function fieldNames(object: PlainObject): readonly string[] {
  return namesInMessage(namesIn(object, DEPTH_MAX));
}

function namesIn(object: PlainObject, depth: number): readonly string[] {
  return Object.entries(object).flatMap(([name, value]) =>
    isPlainObject(value) && depth > 1
      ? namesIn(value, depth - 1).map((each) => `${name}.${each}`)
      : [name],
  );
}

/** As many names as a message can have. */
export function namesInMessage(names: readonly string[]): readonly string[] {
  if (names.length <= NAMES_MAX) return names;
  return [...names.slice(0, NAMES_MAX), `${names.length - NAMES_MAX} more`];
}
