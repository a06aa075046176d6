type Numbers = Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

/** Arrays up to this are copied when they become longer: that takes less than a millisecond. */
const COPIED_BYTES_MAX = 1024 * 1024;
/**
 * Longer ones get this much at once. The system gives memory only for what is written to, so what
 * is not used yet costs nothing.
 */
const LONG_BYTES = 32 * 1024 * 1024;

/**
 * The array with room for so many values, with zeros behind its own: itself if it is long enough.
 * It is no resizable buffer, which grows without a copy: a look-up takes a third longer there.
 */
export function withRoom<T extends Numbers>(values: T, length: number): T {
  if (length <= values.length) return values;
  const bytes = Math.max(2 * values.length, length) * values.BYTES_PER_ELEMENT;
  const Values = values.constructor as new (buffer: ArrayBuffer) => T;
  const room = bytes <= COPIED_BYTES_MAX ? bytes : Math.max(bytes, LONG_BYTES);
  const longer = new Values(new ArrayBuffer(room));
  longer.set(values);
  return longer;
}
