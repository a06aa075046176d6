/**
 * What the gRPC library's text about a failed call says of a connection that could not be made: the
 * reason of the system, or ours about what the server sent; '' where only the library's authors can
 * read it. Undefined for other failures.
 */
export function whyNoConnection(text: string): string | undefined {
  if (!text.includes('No connection established')) return undefined;
  return LAST_ERROR.exec(text.trim())?.[1] ?? '';
}

/** The library puts a time in parentheses behind some of them. */
const LAST_ERROR =
  /Last error: (?:Error: )?(connect \w+ \S+?|the server .+?)(?: \([^()]*\))?\.?(?: Resolution note:.*)?$/s;
