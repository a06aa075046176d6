import type { JsonHandler } from './json-text.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Tells where values and names of a JSON text are, while it is read: those at one depth. */
export abstract class WatchedValues implements JsonHandler {
  /** How many objects and arrays are open. */
  protected depth = 0;
  /** How many are open around the values that are watched. */
  protected watched = 0;
  /** Where the last watched value begins. */
  protected valueStart = 0;
  #inText = false;

  /** An object or array has begun. `end` is behind its brace or bracket; `depth` counts it. */
  protected abstract onOpen(kind: 'object' | 'array', end: number): void;
  /** An object or array ends at `end`. `depth` still counts it. */
  protected abstract onClose(end: number): void;
  /** A watched value ends at `end`. */
  protected abstract onValue(end: number): void;
  abstract key(name: string, end: number): void;

  beginObject(end: number): void {
    this.#begin('object', end);
  }

  beginArray(end: number): void {
    this.#begin('array', end);
  }

  endObject(end: number): void {
    this.#end(end);
  }

  endArray(end: number): void {
    this.#end(end);
  }

  stringPart(from: number, to: number, last: boolean, end: number): void {
    if (this.depth !== this.watched) return;
    if (!this.#inText) this.valueStart = end - (to - from) - 1;
    this.#inText = !last;
    // `end` is before the quote.
    if (last) this.onValue(end + 1);
  }

  integer(value: number, end: number): void {
    if (this.depth !== this.watched) return;
    this.valueStart = end - String(value).length;
    this.onValue(end);
  }

  scalar(text: string, end: number): void {
    if (this.depth !== this.watched) return;
    this.valueStart = end - text.length;
    this.onValue(end);
  }

  #begin(kind: 'object' | 'array', end: number): void {
    if (this.depth === this.watched) this.valueStart = end - 1;
    this.depth += 1;
    this.onOpen(kind, end);
  }

  #end(end: number): void {
    this.onClose(end);
    this.depth -= 1;
    if (this.depth === this.watched) this.onValue(end);
  }
}

/** Where a name begins whose closing quote is before `end`: at its opening quote. */
export function nameStart(text: Buffer, end: number): number {
  let at = end - 1;
  do at = text.lastIndexOf(QUOTE, at - 1);
  while (isEscaped(text, at));
  return at;
}

function isEscaped(text: Buffer, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === BACKSLASH) slashes += 1;
  return slashes % 2 === 1;
}
