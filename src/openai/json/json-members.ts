import { JsonScanner } from './json-scanner.ts';
import type { JsonHandler } from './json-text.ts';

/** Bytes of a text, from `start` to before `end`. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object, or an element of an array: then its name is empty. */
interface Part extends Span {
  readonly name: string;
  /** Where the value begins; the name begins at `start`. */
  readonly valueStart: number;
  /** The end of the part before it: between the two are a comma and white space. */
  readonly behind: number;
}

/** JSON texts by the names of members; undefined removes the member. */
export type MemberEdits = Readonly<Record<string, Buffer | string | undefined>>;

/** The bytes of the last member of this name, which JSON readers take; undefined without one. */
export function memberOf(text: Buffer, name: string): Buffer | undefined {
  const { kind, parts } = partsOf(text);
  const found = kind === 'object' ? parts.findLast((each) => each.name === name) : undefined;
  return found && text.subarray(found.valueStart, found.end);
}

/** The value that the last member of this name has, parsed; undefined without one. */
export function valueOf(text: Buffer, name: string): unknown {
  const found = memberOf(text, name);
  return found && JSON.parse(found.toString('utf8'));
}

/** Names and bytes of an object's members, in order; none for another value. */
export function entriesOf(text: Buffer): readonly (readonly [name: string, value: Buffer])[] {
  const { kind, parts } = partsOf(text);
  if (kind !== 'object') return [];
  return parts.map(({ name, valueStart, end }) => [name, text.subarray(valueStart, end)]);
}

/** The first elements of an array, at most so many, each in its bytes; none for another value. */
export function elementsOf(text: Buffer, elementsMax: number): readonly Buffer[] {
  const { kind, parts } = partsOf(text, elementsMax);
  return kind === 'array' ? parts.map(({ start, end }) => text.subarray(start, end)) : [];
}

/**
 * An object with some members set or removed; every other byte is as it was. Where a name occurs
 * several times, each occurrence is set, so it does not matter which one a reader takes. A name
 * that does not occur is added at the end. The text itself where nothing changes, and where it is
 * no object. Throws RoutingError `invalid-request` for what is no JSON.
 */
export function withMembers(text: Buffer, edits: MemberEdits): Buffer {
  const { kind, parts, close } = partsOf(text);
  if (kind !== 'object') return text;
  const names = new Set(parts.map(({ name }) => name));
  const added = Object.entries(edits).filter(
    ([name, value]) => value !== undefined && !names.has(name),
  );
  if (added.length === 0 && !parts.some(({ name }) => Object.hasOwn(edits, name))) return text;
  const kept = parts.filter(({ name }) => !Object.hasOwn(edits, name) || edits[name] !== undefined);
  const pieces: (Buffer | string)[] = [text.subarray(0, parts[0]?.start ?? close)];
  for (const [index, { name, behind, start, valueStart, end }] of kept.entries()) {
    if (index > 0) pieces.push(text.subarray(behind, start));
    const edit = edits[name];
    if (edit === undefined) pieces.push(text.subarray(start, end));
    else pieces.push(text.subarray(start, valueStart), edit);
  }
  for (const [index, [name, value]] of added.entries()) {
    pieces.push(kept.length + index > 0 ? ',' : '', JSON.stringify(name), ':', value ?? '');
  }
  pieces.push(text.subarray(parts.at(-1)?.end ?? close));
  return joined(pieces);
}

/** An array with another element at its end; the text itself where it is no array. */
export function withElement(text: Buffer, element: Buffer | string): Buffer {
  const { kind, parts, close } = partsOf(text, 1);
  if (kind !== 'array') return text;
  const comma = parts.length === 0 ? '' : ',';
  return joined([text.subarray(0, close), comma, element, text.subarray(close)]);
}

function joined(pieces: readonly (Buffer | string)[]): Buffer {
  return Buffer.concat(
    pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  );
}

/**
 * The outermost parts of a JSON text, found in one pass that copies nothing: all of an object, and
 * the first of an array, which may have millions.
 */
function partsOf(text: Buffer, elementsMax = 0): PartsReader {
  const reader = new PartsReader(text, elementsMax);
  const scanner = new JsonScanner(reader);
  scanner.push(text);
  scanner.end();
  return reader;
}

class PartsReader implements JsonHandler {
  kind: 'object' | 'array' | 'other' = 'other';
  readonly parts: Part[] = [];
  /** Before the closing brace or bracket of the outermost value. */
  close = 0;
  readonly #text: Buffer;
  readonly #elementsMax: number;
  #depth = 0;
  #name = '';
  #nameStart: number | undefined;
  /** Behind what has been read of the outermost value: its opening, or its last part. */
  #behind = 0;
  #valueStart = 0;

  constructor(text: Buffer, elementsMax: number) {
    this.#text = text;
    this.#elementsMax = elementsMax;
  }

  beginObject(): void {
    this.#begin('object');
  }

  beginArray(): void {
    this.#begin('array');
  }

  endObject(end: number): void {
    this.#end(end);
  }

  endArray(end: number): void {
    this.#end(end);
  }

  key(name: string, end: number): void {
    if (this.#depth !== 1) return;
    this.#name = name;
    this.#nameStart = this.#valueAt(this.#behind);
    this.#behind = end;
  }

  stringPart(_from: number, _to: number, last: boolean, end: number): void {
    // `end` is before the quote.
    if (last) this.#leaf(end + 1);
  }

  integer(_value: number, end: number): void {
    this.#leaf(end);
  }

  scalar(_text: string, end: number): void {
    this.#leaf(end);
  }

  /** Whether what follows is left out. */
  get #isFull(): boolean {
    return this.kind === 'array' && this.parts.length >= this.#elementsMax;
  }

  #begin(kind: 'object' | 'array'): void {
    if (this.#depth === 0) {
      this.kind = kind;
      this.#behind = 1 + this.#text.indexOf(kind === 'object' ? '{' : '[');
    } else if (this.#depth === 1 && !this.#isFull) this.#valueStart = this.#valueAt(this.#behind);
    this.#depth += 1;
  }

  #end(end: number): void {
    this.#depth -= 1;
    if (this.#depth === 1 && !this.#isFull) this.#add(this.#valueStart, end);
    else if (this.#depth === 0) this.close = end - 1;
  }

  #leaf(end: number): void {
    if (this.#depth === 1 && !this.#isFull) this.#add(this.#valueAt(this.#behind), end);
  }

  #add(valueStart: number, end: number): void {
    const start = this.#nameStart ?? valueStart;
    const behind = this.parts.at(-1)?.end ?? start;
    this.parts.push({ name: this.#name, behind, start, valueStart, end });
    this.#nameStart = undefined;
    this.#behind = end;
  }

  /** Where the next name or value begins: behind white space and a comma or colon. */
  #valueAt(from: number): number {
    let at = from;
    while (SKIPPED.has(this.#text[at] ?? -1)) at += 1;
    return at;
  }
}

/** Space, tab, line ends, comma and colon. */
const SKIPPED: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0x2c, 0x3a]);
