import type { ByteLog } from './byte-log.ts';
import type { ByteReader } from './byte-reader.ts';

/**
 * A number for each of some endpoints, kept as what has changed since the decision before: most of what a decision goes by
 * has not. Numbers that a short float holds exactly are kept as one; none is ever rounded.
 */

const SAME = 0;
const ALL_EQUAL = 1;
const SOME = 2;
const ALL = 3;
/** Added to the three above where the numbers are short. */
const SHORT = 4;

/** At most so many bytes a number. */
const BYTES_PER_NUMBER = 10;

/** Endpoints by their slots, in the order of the numbers; only the first `count` are meant. */
export interface SlotList {
  readonly slots: Uint16Array;
  readonly count: number;
}

/** Which have changed, by place. Room for as many as there can be slots; only used within one call. */
const changed = new Uint16Array(65_536);

/** `last` is by slot, as long as the highest of them asks for, and brought up to date. */
export function writeColumn(
  log: ByteLog,
  values: Float64Array,
  { slots, count }: SlotList,
  last: Float64Array,
): void {
  let changes = 0;
  for (let index = 0; index < count; index++) {
    const slot = slots[index] as number;
    if (values[index] !== last[slot]) changed[changes++] = index;
  }
  if (changes === 0) log.u8(SAME);
  else writeChanges(log, values, { slots, count, changes, last });
}

function writeChanges(
  log: ByteLog,
  values: Float64Array,
  {
    slots,
    count,
    changes,
    last,
  }: SlotList & { readonly changes: number; readonly last: Float64Array },
): void {
  let short = true;
  for (let change = 0; change < changes; change++) {
    const index = changed[change] as number;
    const value = values[index] as number;
    short &&= Math.fround(value) === value;
    last[slots[index] as number] = value;
  }
  const form = changes * 5 > count * 4 ? (allEqual(values, count) ? ALL_EQUAL : ALL) : SOME;
  if (form === ALL)
    for (let index = 0; short && index < count; index++) short = isShort(values[index] as number);
  log.reserve(3 + count * BYTES_PER_NUMBER);
  log.u8(short ? form + SHORT : form);
  if (form === SOME) log.u16(changes);
  const numbers = form === ALL_EQUAL ? 1 : form === ALL ? count : changes;
  for (let at = 0; at < numbers; at++) {
    const index = form === SOME ? (changed[at] as number) : at;
    if (form === SOME) {
      if (count > 256) log.u16(index);
      else log.u8(index);
    }
    if (short) log.f32(values[index] as number);
    else log.f64(values[index] as number);
  }
}

function isShort(value: number): boolean {
  return Math.fround(value) === value;
}

function allEqual(values: Float64Array, count: number): boolean {
  const [first] = values;
  for (let index = 1; index < count; index++) if (values[index] !== first) return false;
  return true;
}

/** Brings `last` up to date with a column that was written. */
export function readColumn(
  reader: ByteReader,
  { slots, count }: SlotList,
  last: Float64Array,
): void {
  const tag = reader.u8();
  if (tag === SAME) return;
  const short = tag > SHORT;
  const form = short ? tag - SHORT : tag;
  const number = (): number => (short ? reader.f32() : reader.f64());
  if (form === ALL_EQUAL) {
    const value = number();
    for (let index = 0; index < count; index++) last[slots[index] as number] = value;
    return;
  }
  const numbers = form === ALL ? count : reader.u16();
  for (let at = 0; at < numbers; at++) {
    const index = form === ALL ? at : count > 256 ? reader.u16() : reader.u8();
    last[slots[index] as number] = number();
  }
}
