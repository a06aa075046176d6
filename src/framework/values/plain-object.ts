/** A JSON object whose fields have not been checked yet. */
export type PlainObject = Readonly<Record<string, unknown>>;

/** Whether a value that was read from JSON or YAML is an object, and so neither null nor an array. */
export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A JSON object; what is none has no fields. */
export function objectOf(value: unknown): PlainObject {
  return isPlainObject(value) ? value : {};
}
