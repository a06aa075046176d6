import type * as Yaml from 'yaml';

/**
 * The number of characters before each key that its map has already, up to `most` of them. The
 * library compares each key with all others of its map: 20,000 keys took 16 s.
 */
export function repeatedKeys(
  document: Yaml.Document.Parsed,
  { visit, isScalar }: Pick<typeof Yaml, 'visit' | 'isScalar'>,
  most: number,
): readonly number[] {
  const found: number[] = [];
  visit(document, {
    Map: (_place, { items }) => {
      const values = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (values.has(key.value)) found.push(key.range?.[0] ?? 0);
        if (found.length >= most) return visit.BREAK;
        values.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}
