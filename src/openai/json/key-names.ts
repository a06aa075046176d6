import { decodeJsonString } from './json-text.ts';

/** Longer names are rare, and are decoded each time. */
const NAME_BYTES_MAX = 40;
/** A power of two; an API has some dozens of names. */
const SLOTS = 256;

interface KnownName {
  readonly bytes: Uint8Array;
  readonly name: string;
}

const known: (KnownName | undefined)[] = Array.from({ length: SLOTS }, () => undefined);

/**
 * The property name in `bytes` from `start` to before `end`, raw as in JSON. Names repeat with each
 * message and tool of a body, and decoding one takes longer than all else that is done with it.
 */
export function keyName(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 0 || length > NAME_BYTES_MAX)
    return decodeJsonString([bytes.subarray(start, end)]);
  let slot = length;
  for (let at = start; at < end; at++) slot = (Math.imul(slot, 31) + (bytes[at] as number)) | 0;
  slot &= SLOTS - 1;
  const found = known[slot];
  if (found !== undefined && isSame(found.bytes, bytes, start, length)) return found.name;
  const copy = bytes.slice(start, end);
  const name = decodeJsonString([copy]);
  known[slot] = { bytes: copy, name };
  return name;
}

function isSame(known: Uint8Array, bytes: Uint8Array, start: number, length: number): boolean {
  if (known.length !== length) return false;
  for (let at = 0; at < length; at++) if (known[at] !== bytes[start + at]) return false;
  return true;
}
