import { KeptNames } from './kept-names.ts';

/** The label value of all names beyond a cap, as in the reference. */
export const OTHER = 'other';

/** Longer than any model name in use. Every scrape would transfer a label of a megabyte. */
const NAME_CHARS_MAX = 256;

interface NameCap {
  /** The name itself; `other` for a new name once as many as the cap are known. */
  admit(name: string): string;
  /** The name itself if it is known, else `other`. A new name stays unknown. */
  known(name: string): string;
  /** Forgets all names but these. */
  retain(names: Iterable<string>): void;
}

/**
 * Bounds the values of a label that clients choose, such as model names. Kept ones do not count.
 */
export function createNameCap(namesMax: number, kept: KeptNames = new KeptNames()): NameCap {
  let names = new Set<string>();
  return {
    admit(name) {
      if (names.has(name) || kept.has(name)) return name;
      if (names.size >= namesMax || name.length > NAME_CHARS_MAX) return OTHER;
      names.add(name);
      return name;
    },
    known: (name) => (names.has(name) || kept.has(name) ? name : OTHER),
    retain: (used) => {
      names = new Set(used);
    },
  };
}
