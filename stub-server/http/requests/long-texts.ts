import { isUtf8 } from 'node:buffer';

/** Shorter texts are parsed with the rest of the body: a search for them would cost more. */
const LONG_BYTES = 16 * 1024;
/** Replaces a long text in the JSON that is parsed. A private-use character begins it. */
const MARK = '\u{f0000}long text ';
const MARK_BYTES = Buffer.from(MARK);
/** Keys of values that become part of the prompt. */
const KEYS: readonly Buffer[] = [
  'prompt',
  'content',
  'text',
  'input',
  'instructions',
  'system',
].map((key) => Buffer.from(`"${key}"`));

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Parses JSON but keeps long prompts as bytes: strings of them would be garbage at once. */
export class LongTexts {
  /** The parsed JSON, with marks in place of long texts. */
  readonly value: unknown;
  readonly #texts: readonly Buffer[];

  /** Throws SyntaxError. It changes `body`: escapes in long texts are replaced. */
  constructor(body: Buffer) {
    // A body that contains the mark is parsed without marks, so that a client cannot forge one.
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

  /** The bytes of a string in `value`. */
  readonly bytesOf = (text: string): Buffer =>
    (text.startsWith(MARK) ? this.#texts[Number(text.slice(MARK.length))] : undefined) ??
    Buffer.from(text, 'utf8');
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Contents of long string literals that are values of `KEYS` and plain (see `isPlain`). */
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

/** The closing quote of the string literal whose content begins at `start`; -1 without one. */
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

/** Whether a literal's content is UTF-8 with one-letter escapes only and no control characters. */
function isPlain(content: Buffer): boolean {
  for (let at = content.indexOf(BACKSLASH); at !== -1; at = content.indexOf(BACKSLASH, at + 2)) {
    if (!ESCAPES.has(content[at + 1] as number)) return false;
  }
  return !hasControl(content) && isUtf8(content);
}

/** Four bytes at a time: subtracting 0x20 newly sets the top bit of a byte only if it is below. */
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

const ESCAPED = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries(ESCAPED).map(([letter, to]) => [letter.charCodeAt(0), to.charCodeAt(0)]),
);

/** Replaces the escapes in a plain literal's content and returns the new length. */
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
