/** What the compiled kernel does, slow and obvious. */

const ESCAPE = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/;

/**
 * Where the text of a JSON string stops, as `stringEnd` says it. `text` has a character for each
 * byte.
 */
export function plainStringEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    if (text[at] === '"' || text.charCodeAt(at) < 0x20) return at;
    if (text[at] !== '\\') at += 1;
    else {
      const escape = ESCAPE.exec(text.slice(at, at + 6))?.[0];
      if (escape === undefined) return at;
      at += escape.length;
    }
  }
  return at;
}
