import type { CST } from 'yaml';

/** Reading recurses: some thousand levels exhaust the stack. A configuration has about ten. */
export const LEVELS_MAX = 200;
/** With what aliases repeat. The longest file has fewer without them. */
const VALUES_MAX = 1_000_000;

type Child = CST.Token | null | undefined;

/** The number of characters before the first list or map that is nested too deeply. */
export function tooDeepAt(document: CST.Token): number | undefined {
  let level: readonly Child[] = [document.type === 'document' ? document.value : undefined];
  for (let depth = 0; level.length > 0; depth++) {
    const deepest = level.find((token) => token && 'items' in token);
    if (deepest && depth >= LEVELS_MAX) return deepest.offset;
    level = level.flatMap(childrenOf);
  }
  return undefined;
}

/** Where a document that is being read, of which `open` is open, the outer ones first, is too deep. */
export function tooDeepIn(open: readonly CST.Token[]): number | undefined {
  if (open.length <= LEVELS_MAX) return undefined;
  return open.filter((token) => 'items' in token)[LEVELS_MAX]?.offset;
}

function childrenOf(token: Child): readonly Child[] {
  if (!token || !('items' in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value]);
}

interface Extent {
  readonly values: number;
  readonly levels: number;
}

const SCALAR: Extent = { values: 1, levels: 0 };

/**
 * Throws where a value that aliases repeat, and that is small as long as they share it, would be
 * huge, nested too deeply or endless for those who look at each place.
 */
export function checkExpansion(value: unknown): void {
  const seen = new Map<object, Extent | 'under way'>();
  const extentOf = (part: unknown): Extent => {
    if (typeof part !== 'object' || part === null) return SCALAR;
    const known = seen.get(part);
    if (known === 'under way') throw new Error('has an alias of a map or list that contains it');
    if (known !== undefined) return known;
    seen.set(part, 'under way');
    let [values, levels] = [1, 0];
    for (const each of Object.values(part)) {
      const inner = extentOf(each);
      values += inner.values;
      levels = Math.max(levels, inner.levels);
    }
    const extent = { values, levels: levels + 1 };
    if (extent.values > VALUES_MAX) {
      throw new Error(`has more than ${VALUES_MAX} values, with those that its aliases repeat`);
    }
    if (extent.levels > LEVELS_MAX) {
      throw new Error(`is nested deeper than ${LEVELS_MAX} levels, with what its aliases repeat`);
    }
    seen.set(part, extent);
    return extent;
  };
  extentOf(value);
}
