import { labelsEnd } from './prometheus-labels.ts';

export const NEWLINE = 0x0a;
const RETURN = 0x0d;
export const OPEN_BRACE = 0x7b;
export const SPACE = 0x20;
export const TAB = 0x09;
const HASH = 0x23;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** A longer line is malformed. This one has room for 1,024 adapters with names of 60 characters. */
export const LINE_BYTES_MAX: number = 64 * 1024;
/** Nothing that is a number is longer. */
const VALUE_BYTES_MAX = 64;

/** The value of a line, whose labels are skipped. */
export function readValue(page: Buffer, afterName: number): number | undefined {
  const end = lineEnd(page, afterName);
  if (end - afterName > LINE_BYTES_MAX) return undefined;
  const start = skipBlanks(page, afterName);
  if (page[start] !== OPEN_BRACE) return numberAt(page, start, end);
  const close = labelsEnd(page, start, end);
  return close < 0 ? undefined : numberAt(page, close, end);
}

/** The first word between `start` and `end`, NaN for no number; a timestamp may follow it. */
export function numberAt(page: Buffer, start: number, end: number): number | undefined {
  const from = skipBlanks(page, start);
  const usual = decimalAt(page, from, end);
  if (!Number.isNaN(usual)) return usual;
  let to = from;
  const last = Math.min(end, from + VALUE_BYTES_MAX);
  while (to < last && !isBlank(page[to])) to += 1;
  if (to === from) return undefined;
  const text = page.toString('latin1', from, to);
  const value = to < end && !isBlank(page[to]) ? Number.NaN : Number(text);
  if (!Number.isNaN(value)) return value;
  if (/^\+?inf$/i.test(text)) return Number.POSITIVE_INFINITY;
  return /^-inf$/i.test(text) ? Number.NEGATIVE_INFINITY : Number.NaN;
}

/** So many digits, as a whole number, and a power of ten up to here are exact. */
const DIGITS_MAX = 15;

/**
 * The number that fills the word at `from` with a few digits, and a point at most: what a page
 * nearly always has, read without a text. Exactly as `Number` reads it, because one division of two
 * exact numbers is rounded right. NaN for any other word.
 */
function decimalAt(page: Buffer, from: number, end: number): number {
  let digits = 0;
  let value = 0;
  let point = -1;
  let at = from;
  for (; at < end; at++) {
    const byte = page[at] as number;
    if (byte >= ZERO && byte <= NINE) {
      digits += 1;
      value = value * 10 + (byte - ZERO);
    } else if (byte === POINT && point < 0) point = at;
    else break;
  }
  if (digits === 0 || digits > DIGITS_MAX || (at < end && !isBlank(page[at]))) return Number.NaN;
  return point < 0 ? value : value / 10 ** (at - point - 1);
}

/** So many bytes are looked at one by one: a call of `indexOf` takes as long. */
const NEAR_BYTES = 160;

export function lineEnd(page: Buffer, from: number): number {
  const near = Math.min(page.length, from + NEAR_BYTES);
  let at = from;
  while (at < near && page[at] !== NEWLINE) at += 1;
  if (at < near || near === page.length) return at;
  const newline = page.indexOf(NEWLINE, near);
  return newline < 0 ? page.length : newline;
}

/** Where the line begins that has the byte before `end`. */
export function lineStart(page: Buffer, end: number): number {
  const near = Math.max(0, end - NEAR_BYTES);
  let at = end;
  while (at > near && page[at - 1] !== NEWLINE) at -= 1;
  if (at > near || near === 0) return at;
  return page.lastIndexOf(NEWLINE, near - 1) + 1;
}

export function skipBlanks(page: Buffer, from: number): number {
  let at = from;
  while (page[at] === SPACE || page[at] === TAB) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === RETURN;
}

/** Empty lines and comments may be among the series of a metric. */
export function isSkipped(page: Buffer, at: number): boolean {
  const first = page[at];
  return first === HASH || first === NEWLINE || first === RETURN;
}

/**
 * A copy that stays, as the next page uses the same memory. Without Node's pool, of which it would
 * keep 64 KB.
 */
export function copyOf(page: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  page.copy(copy, 0, start, end);
  return copy;
}
