/** What stands at a path with dots, such as `vllm.url`; undefined where nothing does. */
export function parameterAt(value: unknown, path: string): unknown {
  let found: unknown = value;
  for (const key of path.split('.')) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found;
}

/** Whether a parameter says something: null and an empty text are as if it was left out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
