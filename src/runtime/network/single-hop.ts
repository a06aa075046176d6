/**
 * Headers that a proxy passes on to nobody: those of one connection (RFC 9110, 7.6.1), what a client
 * and a proxy say to each other (11.7), and `expect`, which our servers answer themselves.
 */
export const SINGLE_HOP: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** What the values of `connection` name: further headers for that connection alone, in lower case. */
export function namedByConnection(values: readonly string[]): ReadonlySet<string> {
  const names = values.flatMap((value) => value.split(','));
  return new Set(names.map((name) => name.trim().toLowerCase()));
}
