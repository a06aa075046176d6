/**
 * What the gRPC library's text about a failed call says of a connection that could not be made: the
 * system's reason, or '' where only the library's authors can read it. Undefined for other
 * failures.
 */
export function whyNoConnection(text: string): string | undefined {
  if (!text.includes('No connection established')) return undefined;
  return (
    /Last error: (?:Error: )?(connect \w+ \S+?)\.?(?: Resolution note:.*)?$/s.exec(
      text.trim(),
    )?.[1] ?? ''
  );
}
