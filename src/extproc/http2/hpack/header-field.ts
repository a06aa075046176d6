/** A field that was checked once: a list that holds it again need not look at it again. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** The size by which tables and lists count it, with 32 bytes for the entry itself. */
  readonly bytes: number;
  /** Whether a request may have it. */
  readonly allowed: boolean;
  /** Pseudo headers of requests have a bit each, all others 0. */
  readonly pseudo: number;
}

/** What RFC 7541, 4.1, and RFC 9113, 6.5.2, add to name and value. */
const FIELD_EXTRA_BYTES = 32;

const PSEUDO: ReadonlyMap<string, number> = new Map([
  [':method', 1],
  [':scheme', 2],
  [':path', 4],
  [':authority', 8],
]);
/** The bits of the pseudo headers that each request has. */
export const NEEDED_PSEUDO = 7;

/** RFC 9113, 8.2.2. */
const CONNECTION_SPECIFIC: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** RFC 9110's tokens, without upper case. */
const NAME = /^[a-z0-9!#$%&'*+\-.^_`|~]+$/;
/** Control characters other than tabs, what is no byte, and white space at either end. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]|^[ \t]|[ \t]$/;

/** `name` and `value` hold one character a byte. */
export function headerField(name: string, value: string): HeaderField {
  const pseudo = PSEUDO.get(name) ?? 0;
  return {
    name,
    value,
    bytes: name.length + value.length + FIELD_EXTRA_BYTES,
    allowed:
      !NOT_IN_VALUE.test(value) &&
      (pseudo === 0 ? allows(name, value) : value !== '' || name === ':authority'),
    pseudo,
  };
}

function allows(name: string, value: string): boolean {
  if (!NAME.test(name) || CONNECTION_SPECIFIC.has(name)) return false;
  return name !== 'te' || value.toLowerCase() === 'trailers';
}
