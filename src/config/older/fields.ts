import { isPlainObject, type PlainObject } from '../../framework/values/plain-object.ts';

/** A map of a configuration whose fields have not been checked yet. */
export type Fields = PlainObject;

/** A copy of a list; undefined for anything else. */
export function listOf(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? [...(value as unknown[])] : undefined;
}

export function without(fields: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

export function valueAt(fields: Fields, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, key) => (isPlainObject(at) ? at[key] : undefined), fields);
}

/** A copy of `fields` with `value` at a path of names; without it where it is undefined. */
export function withValue(fields: Fields, path: string, value: unknown): Fields {
  const [first = '', ...others] = path.split('.');
  const inner = fields[first];
  const next =
    others.length === 0
      ? value
      : withValue(isPlainObject(inner) ? inner : {}, others.join('.'), value);
  return next === undefined ? without(fields, first) : { ...fields, [first]: next };
}
