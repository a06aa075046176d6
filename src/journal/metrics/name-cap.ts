/** What a name beyond the cap is called, as in the reference. */
export const OTHER = 'other';

/** Longer than any model name in use; a label of a megabyte would be sent at every scrape. */
const NAME_CHARS_MAX = 256;

export interface NameCap {
  /** The name itself while fewer than the cap are known, then `other` for new ones. */
  admit(name: string): string;
  /** The name itself if it is known, else `other`; makes nothing known. */
  known(name: string): string;
}

/** Clients choose model names and fairness ids, so the number of label values they can make is capped. */
export function createNameCap(namesMax: number): NameCap {
  const names = new Set<string>();
  return {
    admit(name) {
      if (names.has(name)) return name;
      if (names.size >= namesMax || name.length > NAME_CHARS_MAX) return OTHER;
      names.add(name);
      return name;
    },
    known: (name) => (names.has(name) ? name : OTHER),
  };
}
