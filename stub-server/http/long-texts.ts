import { isUtf8 } from 'node:buffer';

/** Shorter texts are read with the rest of the body: looking for them would cost more than it saves. */
const LONG_BYTES = 16 * 1024;
/** Stands for a long text in the JSON that is parsed. No text a person writes. */
const MARK = '\u{f0000}long text ';
const MARK_BYTES = Buffer.from(MARK);
/** Values of these keys become prompt. */
const KEYS: readonly Buffer[] = ['prompt', 'content', 'text'].map((key) => Buffer.from(`"${key}"`));

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** JSON whose long prompts were left where they were, as bytes: a string of each would be made to be thrown away. */
export class LongTexts {
  /** What was parsed, with marks for the long texts. */
  readonly value: unknown;
  readonly #texts: readonly Buffer[];

  /** Throws SyntaxError. `body` is changed: what was escaped in it no longer is. */
  constructor(body: Buffer) {
    // A body with marks of its own is read as any other, so that nobody can pass one for the other.
    const found = body.length < LONG_BYTES || body.includes(MARK_BYTES) ? [] : longTextsOf(body);
    const pieces: Buffer[] = [];
    const texts: Buffer[] = [];
    let from = 0;
    for (const { start, end } of found) {
      pieces.push(body.subarray(from, start), Buffer.from(`${MARK}${texts.length}`));
      texts.push(body.subarray(start, start + unescapeInPlace(body, start, end)));
      from = end;
    }
    pieces.push(body.subarray(from));
    this.#texts = texts;
    this.value = JSON.parse((found.length === 0 ? body : Buffer.concat(pieces)).toString('utf8'));
  }

  /** The bytes of a string of `value`. */
  readonly bytesOf = (text: string): Buffer =>
    (text.startsWith(MARK) ? this.#texts[Number(text.slice(MARK.length))] : undefined) ??
    Buffer.from(text, 'utf8');
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Contents of string literals that are long, values of the right keys, and read as JSON without looking closer. */
function longTextsOf(body: Buffer): readonly Span[] {
  const found: Span[] = [];
  for (let quote = body.indexOf(QUOTE); quote !== -1; ) {
    const start = quote + 1;
    const end = endOfString(body, start);
    if (end === -1) return [];
    const long = end - start >= LONG_BYTES && hasKey(body, quote);
    if (long && isPlain(body.subarray(start, end))) found.push({ start, end });
    quote = body.indexOf(QUOTE, end + 1);
  }
  return found;
}

/** Of the string literal whose content begins at `start`: its closing quote; -1 when there is none. */
function endOfString(body: Buffer, start: number): number {
  let end = body.indexOf(QUOTE, start);
  while (end !== -1) {
    let backslashes = 0;
    while (body[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end;
    end = body.indexOf(QUOTE, end + 1);
  }
  return -1;
}

function hasKey(body: Buffer, quote: number): boolean {
  let at = beforeSpace(body, quote - 1);
  if (body[at] !== COLON) return false;
  at = beforeSpace(body, at - 1) + 1;
  return KEYS.some((key) => body.subarray(Math.max(0, at - key.length), at).equals(key));
}

function beforeSpace(body: Buffer, from: number): number {
  let at = from;
  while (at >= 0 && (body[at] as number) <= 0x20) at -= 1;
  return at;
}

/** Whether a literal's content has only escapes of one letter, no control characters, and is UTF-8. */
function isPlain(content: Buffer): boolean {
  for (let at = content.indexOf(BACKSLASH); at !== -1; at = content.indexOf(BACKSLASH, at + 2)) {
    if (!ESCAPES.has(content[at + 1] as number)) return false;
  }
  return !hasControl(content) && isUtf8(content);
}

/** Four bytes at a time: a byte below 0x20 is the only one whose top bit a borrow sets that had none. */
function hasControl(content: Buffer): boolean {
  let at = 0;
  for (; (content.byteOffset + at) % 4 !== 0 && at < content.length; at++) {
    if ((content[at] as number) < 0x20) return true;
  }
  const words = new Int32Array(
    content.buffer,
    content.byteOffset + at,
    Math.max(0, (content.length - at) >> 2),
  );
  for (const word of words) {
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true;
  }
  for (at += 4 * words.length; at < content.length; at++) {
    if ((content[at] as number) < 0x20) return true;
  }
  return false;
}

const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({
    '"': '"',
    '\\': '\\',
    '/': '/',
    b: '\b',
    f: '\f',
    n: '\n',
    r: '\r',
    t: '\t',
  }).map(([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)]),
);

/** Takes the escapes out of a plain literal's content and returns its length without them. */
function unescapeInPlace(body: Buffer, start: number, end: number): number {
  let to = start;
  let from = start;
  while (from < end) {
    let escape = body.indexOf(BACKSLASH, from);
    if (escape === -1 || escape >= end) escape = end;
    if (to !== from) body.copyWithin(to, from, escape);
    to += escape - from;
    from = escape;
    if (from >= end) break;
    body[to] = ESCAPES.get(body[from + 1] as number) as number;
    to += 1;
    from += 2;
  }
  return to - start;
}
