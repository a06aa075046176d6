type Numbers = Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

/** Longer ones get room to grow in place: copying one of 4 MB takes a millisecond and more. */
const COPIED_BYTES_MAX = 512 * 1024;
/** How many times its size such an array may get before it is copied again. */
const GROWTH_IN_PLACE = 64;

/**
 * The array at twice its length, with zeros behind its values: the same one where it can grow in
 * place, which costs nothing that depends on its length. Small arrays are copied, because a process
 * may have many of them, and the system has a limit for memory that can grow.
 */
export function doubled<T extends Numbers>(values: T): T {
  const { buffer } = values;
  const bytes = 2 * values.byteLength;
  if (buffer.resizable && bytes <= buffer.maxByteLength) {
    buffer.resize(bytes);
    return values;
  }
  const room = bytes > COPIED_BYTES_MAX ? { maxByteLength: GROWTH_IN_PLACE * bytes } : {};
  const Values = values.constructor as new (buffer: ArrayBuffer) => T;
  const longer = new Values(new ArrayBuffer(bytes, room));
  longer.set(values);
  return longer;
}
