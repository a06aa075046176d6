import { headerField } from './header-field.ts';
import { STATIC_TABLE } from './static-table.ts';

/** By name: the first field of the static table that has it, from index 1; the others follow. */
const FIRST_INDEX: ReadonlyMap<string, number> = new Map(
  STATIC_TABLE.map(({ name }, at): [string, number] => [name, at + 1]).reverse(),
);

const INDEXED = 0x80;
const INDEXED_BITS = 7;
const LITERAL = 0x00;
const LITERAL_INDEX_BITS = 4;
const PLAIN_STRING = 0x00;
const STRING_BITS = 7;
/** An index, and the lengths of name and value. */
const FIELD_HEADS_BYTES_MAX = 15;

/**
 * Begins the first block of a connection: its blocks use no dynamic table. Without it a peer that
 * allows a smaller table than HPACK's first one waits for that notice (RFC 7541, 4.2).
 */
export const NO_TABLE: Uint8Array = Uint8Array.of(0x20);

/**
 * A block without use of the dynamic table, and without Huffman codes. Names are in lower case.
 * Throws TypeError for a field that would break the message for the peer, such as a line break.
 */
export function encodeHeaders(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  let bytesMax = 0;
  for (const [name, value] of fields)
    bytesMax += name.length + value.length + FIELD_HEADS_BYTES_MAX;
  const block = Buffer.allocUnsafe(bytesMax);
  let at = 0;
  for (const [name, value] of fields) at = writeField(block, at, name, value);
  return block.subarray(0, at);
}

/** Each `write…` returns where the next byte goes. */
function writeField(block: Buffer, start: number, name: string, value: string): number {
  const first = FIRST_INDEX.get(name);
  if (first === undefined) {
    refuseFaulty(name, value);
    const at = writeString(block, writeInteger(block, start, LITERAL, LITERAL_INDEX_BITS, 0), name);
    return writeString(block, at, value);
  }
  for (let index = first; STATIC_TABLE[index - 1]?.name === name; index++) {
    if (STATIC_TABLE[index - 1]?.value !== value) continue;
    return writeInteger(block, start, INDEXED, INDEXED_BITS, index);
  }
  refuseFaulty(name, value);
  const at = writeInteger(block, start, LITERAL, LITERAL_INDEX_BITS, first);
  return writeString(block, at, value);
}

function refuseFaulty(name: string, value: string): void {
  const { allowed } = headerField(name === ':status' ? 'status' : name, value);
  if (!allowed) throw new TypeError(`HTTP/2 allows no header ${JSON.stringify([name, value])}`);
}

function writeString(block: Buffer, start: number, text: string): number {
  const at = writeInteger(block, start, PLAIN_STRING, STRING_BITS, text.length);
  return at + block.write(text, at, 'latin1');
}

/** Puts an integer below a byte's upper bits, and into bytes after it (RFC 7541, 5.1). */
function writeInteger(
  block: Buffer,
  start: number,
  upperBits: number,
  prefixBits: number,
  value: number,
): number {
  const prefixMax = (1 << prefixBits) - 1;
  if (value < prefixMax) {
    block[start] = upperBits | value;
    return start + 1;
  }
  block[start] = upperBits | prefixMax;
  let at = start + 1;
  let rest = value - prefixMax;
  for (; rest > 0x7f; rest >>>= 7) block[at++] = 0x80 | (rest & 0x7f);
  block[at] = rest;
  return at + 1;
}
