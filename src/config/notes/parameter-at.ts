/** What stands at a path with dots, such as `vllm.url`; undefined where nothing does. */
export function parameterAt(value: unknown, path: string): unknown {
  let found: unknown = value;
  for (const key of path.split('.')) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found;
}

/**
 * What stands at a path such as `engines[].name`, in which `[]` is every element of a list, and at
 * which path each stands: `engines[0].name`.
 */
export function parametersAt(
  value: unknown,
  path: string,
): readonly { readonly at: string; readonly value: unknown }[] {
  const [before = '', ...rest] = path.split('[].');
  const found = parameterAt(value, before);
  if (rest.length === 0) return [{ at: before, value: found }];
  if (!Array.isArray(found)) return [];
  return found.flatMap((element: unknown, index) =>
    parametersAt(element, rest.join('[].')).map(({ at, value: inner }) => ({
      at: `${before}[${index}].${at}`,
      value: inner,
    })),
  );
}

/** Whether a parameter says something: null and an empty text are as if it was left out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
