/** Control characters, and marks that change the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const KEPT: ReadonlySet<string> = new Set(['\n', '\t']);

/**
 * Text as a terminal may get it: names of models, requests and tenants are given by clients, and
 * could clear the screen or show another line than there is. What is not printed is escaped.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    if (KEPT.has(character)) return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
