/** A longer text takes too long to decode in one piece. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Objects, arrays and members of objects: each costs a hundred times the time of its two bytes. */
const PARTS_MAX = 100_000;
/** Elements of arrays, such as the token ids of a prompt. */
const ELEMENTS_MAX = 1_000_000;
/** A shorter text has too few bytes for so many parts. */
const CHECKED_BYTES = 128 * 1024;

const utf8 = new TextDecoder();

/**
 * The value of a JSON text in pieces. Undefined for what is no JSON, and for what would take longer
 * than some tens of milliseconds: a few megabytes of brackets cost seconds and a gigabyte.
 */
export function parseBounded(pieces: readonly Uint8Array[]): unknown {
  const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (bytes > BYTES_MAX) return undefined;
  const text = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  if (bytes > CHECKED_BYTES && !hasFewParts(text)) return undefined;
  try {
    return JSON.parse(utf8.decode(text));
  } catch {
    return undefined;
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
/** 1 for colon, bracket and brace. */
const IS_PART = new Uint8Array(256);
for (const byte of [0x3a, 0x5b, 0x7b]) IS_PART[byte] = 1;

/** Whether a text has no more than it may outside strings. */
function hasFewParts(text: Uint8Array): boolean {
  let parts = 0;
  let elements = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number;
    if (byte === QUOTE) at = endOfString(text, at + 1);
    else if (byte === COMMA) elements += 1;
    else parts += IS_PART[byte] as number;
    if (parts > PARTS_MAX || elements > ELEMENTS_MAX) return false;
  }
  return true;
}

/** Where the quote is that ends the string which begins at `from`; the text's end without one. */
function endOfString(text: Uint8Array, from: number): number {
  for (let at = text.indexOf(QUOTE, from); at >= 0; at = text.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (at - escapes > from && text[at - escapes - 1] === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
