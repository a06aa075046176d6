/** Characters for which a path needs more than a look at its end. */
const UNUSUAL = /[%;#\\A-Z\s]|\/\/|\/\.|\/$/;

/**
 * A path as servers match it, without its query: percent-encoding undone once, in lower case, and
 * without what some servers pass over: empty and `.` segments, `..`, parameters behind a semicolon,
 * a fragment, a NUL with what follows (strings of C end there), and slashes or white space at the
 * end (Python's `$` matches before a line feed). Where servers differ, the one that accepts most
 * counts: an API that is not recognized would pass unread.
 */
export function apiPath(path: string): string {
  const query = path.indexOf('?');
  const bare = query < 0 ? path : path.slice(0, query);
  if (!UNUSUAL.test(bare)) return bare;
  const decoded = (bare.split('#')[0] as string)
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('\\', '/')
    .toLowerCase();
  const segments: string[] = [];
  for (const segment of (decoded.split('\0')[0] as string).split('/')) {
    const name = (segment.split(';')[0] as string).trim();
    if (name === '..') segments.pop();
    else if (name !== '' && name !== '.') segments.push(name);
  }
  return `/${segments.join('/')}`;
}
