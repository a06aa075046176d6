import { JsonObject, type MemberEdits } from './json-object.ts';
import { JsonScanner } from './json-scanner.ts';
import { PartsReader } from './parts-reader.ts';

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
 * An object with some members set or removed, as `with` of JsonObject. The text itself where nothing
 * changes, and where it is no object. Throws RoutingError `invalid-request` for what is no JSON.
 */
export function withMembers(text: Buffer, edits: MemberEdits): Buffer {
  return indexedObject(text)?.with(edits).bytes ?? text;
}

/** The object that a JSON text is; undefined for another value. Throws as `withMembers`. */
function indexedObject(text: Buffer): JsonObject | undefined {
  const reader = partsOf(text);
  return reader.kind === 'object' ? new JsonObject(text, reader.index) : undefined;
}

/** Whether a text that has been read is an array with an element. */
export function hasElements(text: Buffer): boolean {
  let at = text.length - 2;
  while (isSpace(text[at])) at -= 1;
  return text[0] === OPEN_BRACKET && at > 0;
}

/**
 * An array that has been read, with elements at its end, in pieces; the text itself where it is
 * none.
 */
export function withElements(text: Buffer, elements: string): readonly Buffer[] {
  if (text[0] !== OPEN_BRACKET) return [text];
  const comma = hasElements(text) ? ',' : '';
  return [text.subarray(0, -1), Buffer.from(`${comma}${elements}]`)];
}

const OPEN_BRACKET = 0x5b;

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
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
