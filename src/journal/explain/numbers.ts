import type { ByteLog, RecordReader } from './bytes.ts';

/**
 * Writes of a list of numbers only what differs from the list before. A list is written in runs: a
 * byte with a code and a length, then the numbers that the code asks for. No number is rounded: it
 * is written as a 32-bit float only where that is exact.
 */

/** Equal to the number last written for the same slot. Nothing follows. */
const SAME = 0;
/** Equal to the number before it in this list. Nothing follows. */
const REPEATED = 1;
/** A 32-bit float for each number. */
const SHORT = 2;
/** A 64-bit float for each number. */
const LONG = 3;
/** A run's byte has two bits of code and six of its length less one; this one: to the list's end. */
const REST = 63;
const LENGTH_BITS = 6;
/** It takes at most one byte for the run and eight for the number. */
const BYTES_PER_NUMBER = 9;

/** Where the numbers of a list belong, in their order; only the first `count` slots count. */
export interface SlotList {
  readonly slots: Uint16Array;
  readonly count: number;
}

/**
 * Writes the first `count` values and brings `last`, which is by slot with room for all, up to
 * date.
 */
export function writeNumbers(
  log: ByteLog,
  values: Float64Array,
  list: SlotList,
  last: Float64Array,
): void {
  const { slots, count } = list;
  log.reserve(count * BYTES_PER_NUMBER);
  let from = 0;
  let next = count === 0 ? SAME : codeOf(values, 0, last[slots[0] as number]);
  while (from < count) {
    const code = next;
    let end = from + 1;
    for (; end < count; end++) {
      next = codeOf(values, end, last[slots[end] as number]);
      if (next !== code) break;
    }
    while (from < end) {
      const stop = end === count ? count : Math.min(end, from + REST);
      log.u8((code << LENGTH_BITS) | (stop === count ? REST : stop - from - 1));
      if (code === SAME) from = stop;
      for (; from < stop; from++) {
        const value = values[from] as number;
        if (code === SHORT) log.f32(value);
        else if (code === LONG) log.f64(value);
        last[slots[from] as number] = value;
      }
    }
  }
}

function codeOf(values: Float64Array, index: number, last: number | undefined): number {
  const value = values[index] as number;
  if (value === last) return SAME;
  if (index > 0 && value === values[index - 1]) return REPEATED;
  return Math.fround(value) === value ? SHORT : LONG;
}

/** Brings `last` up to date with a list that was written. */
export function readNumbers(
  reader: RecordReader,
  { slots, count }: SlotList,
  last: Float64Array,
): void {
  for (let index = 0; index < count; ) {
    const head = reader.u8();
    const code = head >> LENGTH_BITS;
    const length = head & REST;
    const end = length === REST ? count : index + length + 1;
    for (; index < end; index++) {
      if (code === SAME) continue;
      const slot = slots[index] as number;
      if (code === SHORT) last[slot] = reader.f32();
      else if (code === LONG) last[slot] = reader.f64();
      else last[slot] = last[slots[index - 1] as number] as number;
    }
  }
}
