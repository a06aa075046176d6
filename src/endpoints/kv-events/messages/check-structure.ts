/** Why a message of KV events is dropped. Few values: it labels a metric. */
export type DropReason = (typeof DROP_REASONS)[number];

export const DROP_REASONS = [
  /** An array, map, text or binary claims more than the message has bytes left. */
  'truncated',
  'too-deep',
  'too-many-elements',
  /** No msgpack, or not a batch of events. */
  'not-a-batch',
] as const;

/** A message of KV events that is dropped. */
export class DroppedBatch extends Error {
  readonly reason: DropReason;

  constructor(reason: DropReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A batch, its events, an event's fields, their lists, and what a list of extra keys holds. */
const DEPTH_MAX = 8;

/**
 * By type byte: the bytes of an element that is no container and announces nothing, such as a
 * number; 0 for all others.
 */
const FIXED_BYTES = new Uint8Array(256);
for (let type = 0; type < 256; type++) FIXED_BYTES[type] = fixedBytes(type);

/**
 * Checks msgpack before it is decoded, as a decoder reserves memory for whatever a header
 * announces: all that is announced must fit into the bytes that follow. Throws `DroppedBatch`.
 */
export function checkStructure(bytes: Uint8Array, elementsMax: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** By array or map around the innermost one: how many elements of it are still to come. */
  const around: number[] = [];
  let left = 1;
  /** The elements to come in all that is open; each takes a byte or more. */
  let promised = 1;
  let elements = 0;
  let at = 0;
  while (promised > 0) {
    while (left === 0) left = around.pop() ?? 1;
    left -= 1;
    promised -= 1;
    elements += 1;
    const fixed = FIXED_BYTES[bytes[at] as number] as number;
    if (fixed > 0) {
      at += fixed;
      continue;
    }
    const children = childrenAt(view, at);
    at = endOfHeader(view, at);
    promised += children;
    // Here and at the end, so that a loop over numbers stays short.
    if (at + promised > bytes.length) throw truncated(bytes.length);
    if (elements + promised > elementsMax) throw tooManyElements(elementsMax);
    if (children === 0) continue;
    around.push(left);
    if (around.length > DEPTH_MAX) throw tooDeep(at);
    left = children;
  }
  if (at > bytes.length) throw truncated(bytes.length);
}

function fixedBytes(type: number): number {
  if (type < 0x80 || type >= 0xe0) return 1;
  if (type >= 0xa0 && type < 0xc0) return 1 + (type & 0x1f);
  // nil, unused, false, true; floats; integers; extensions of a fixed size
  if (type >= 0xc0 && type < 0xc4) return 1;
  if (type === 0xca || type === 0xcb) return type === 0xca ? 5 : 9;
  if (type >= 0xcc && type < 0xd4) return 1 + 2 ** (type & 3);
  if (type >= 0xd4 && type < 0xd9) return 2 + 2 ** (type - 0xd4);
  return 0;
}

/** How many elements a container at this place announces; 0 for what is none. */
function childrenAt(view: DataView, at: number): number {
  if (at >= view.byteLength) throw truncated(view.byteLength);
  const type = view.getUint8(at);
  if (type < 0x90) return 2 * (type & 0x0f);
  if (type < 0xa0) return type & 0x0f;
  if (type < 0xdc) return 0;
  const elements = sizeAt(view, at, (type & 1) === 0 ? 2 : 4);
  return type < 0xde ? elements : 2 * elements;
}

/** Behind a container's header, or behind a whole text, binary or extension. */
function endOfHeader(view: DataView, at: number): number {
  const type = view.getUint8(at);
  if (type < 0xa0) return at + 1;
  // 8, 16 and 32 bits of size, of binaries, extensions and texts; an extension has a type as well.
  if (type < 0xc7) return at + 1 + 2 ** (type - 0xc4) + sizeAt(view, at, 2 ** (type - 0xc4));
  if (type < 0xca) return at + 2 + 2 ** (type - 0xc7) + sizeAt(view, at, 2 ** (type - 0xc7));
  if (type < 0xdc) return at + 1 + 2 ** (type - 0xd9) + sizeAt(view, at, 2 ** (type - 0xd9));
  return at + ((type & 1) === 0 ? 3 : 5);
}

/** The size that follows the type byte at `at`. */
function sizeAt(view: DataView, at: number, bytes: number): number {
  if (at + 1 + bytes > view.byteLength) throw truncated(view.byteLength);
  if (bytes === 1) return view.getUint8(at + 1);
  return bytes === 2 ? view.getUint16(at + 1) : view.getUint32(at + 1);
}

function truncated(bytes: number): DroppedBatch {
  return new DroppedBatch('truncated', `it announces more than its ${bytes} bytes can hold`);
}

function tooDeep(at: number): DroppedBatch {
  return new DroppedBatch('too-deep', `it nests deeper than ${DEPTH_MAX} levels at byte ${at}`);
}

function tooManyElements(elementsMax: number): DroppedBatch {
  const message = `it has more than ${elementsMax} elements (kvEventsConfig.maxBatchElements)`;
  return new DroppedBatch('too-many-elements', message);
}
