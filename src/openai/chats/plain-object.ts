export type PlainObject = Readonly<Record<string, unknown>>;

/** A JSON object; what is none has no fields. */
export function objectOf(value: unknown): PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as PlainObject)
    : {};
}
