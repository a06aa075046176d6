import type * as Yaml from 'yaml';

/** A key that its map cannot have, and the number of characters before it. */
interface KeyFault {
  readonly at: number;
  readonly message: string;
}

const REPEATED = 'Map keys must be unique';
/** `{{ .Values.name }}` is a map whose key is a map. */
const NO_TEXT =
  'a key must be a text, and this is a map or a list; where it is {{ … }} of a template, give the file that the template makes';

/**
 * The faults of keys, up to `most` of them: a key that its map has already, and a map or a list as
 * a key. The library compares each key with all others of its map: 20,000 keys took 16 s.
 */
export function keyFaults(
  document: Yaml.Document.Parsed,
  { visit, isScalar, isCollection }: Pick<typeof Yaml, 'visit' | 'isScalar' | 'isCollection'>,
  most: number,
): readonly KeyFault[] {
  const found: KeyFault[] = [];
  visit(document, {
    Map: (_place, { items }) => {
      const values = new Set<unknown>();
      for (const { key } of items) {
        if (found.length >= most) return visit.BREAK;
        if (isCollection(key)) found.push({ at: key.range?.[0] ?? 0, message: NO_TEXT });
        if (!isScalar(key)) continue;
        if (values.has(key.value)) found.push({ at: key.range?.[0] ?? 0, message: REPEATED });
        values.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}
