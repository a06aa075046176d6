/** The first `max` items for a person to read, and how many there are beside them. */
export function firstOf<T>(
  items: readonly T[],
  max: number,
): { readonly shown: readonly T[]; readonly more: number } {
  return { shown: items.slice(0, max), more: Math.max(0, items.length - max) };
}
