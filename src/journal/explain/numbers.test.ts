import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteLog, RecordReader } from './bytes.ts';
import { readNumbers, writeNumbers } from './numbers.ts';

const SEED = 41;
const SLOTS = 600;

/** Numbers of all lengths, many of them what they were before. */
const number = fc.oneof(
  fc.constantFrom(0, 1, 0.5, 448),
  fc.integer({ min: 0, max: 2 ** 40 }),
  fc.double({ noNaN: true }),
);
const numberList = fc
  .uniqueArray(fc.integer({ min: 0, max: SLOTS - 1 }), { maxLength: 400 })
  .chain((slots) =>
    fc.record({
      slots: fc.constant(slots),
      values: fc.oneof(
        number.map((value) => slots.map(() => value)),
        fc.array(number, { minLength: slots.length, maxLength: slots.length }),
      ),
    }),
  );

describe('a list of numbers', () => {
  it('comes back as it was written, after any others', () => {
    fc.assert(
      fc.property(fc.array(numberList, { maxLength: 8 }), (written) => {
        const log = new ByteLog();
        const last = new Float64Array(SLOTS).fill(Number.NaN);
        for (const { slots, values } of written) {
          log.reserve(16);
          const list = { slots: Uint16Array.from(slots), count: slots.length };
          writeNumbers(log, Float64Array.from(values), list, last);
        }
        const reader = new RecordReader(log.take());
        const read = new Float64Array(SLOTS).fill(Number.NaN);
        for (const { slots, values } of written) {
          readNumbers(reader, { slots: Uint16Array.from(slots), count: slots.length }, read);
          // A zero below nothing is a zero.
          expect(slots.map((slot) => (read[slot] ?? 0) + 0)).toEqual(
            values.map((value) => value + 0),
          );
        }
        expect(() => reader.u8()).toThrow(RangeError);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('takes one byte where nothing has changed', () => {
    const log = new ByteLog();
    const last = new Float64Array(300);
    log.reserve(16);
    const list = { slots: Uint16Array.from({ length: 300 }, (_, slot) => slot), count: 300 };
    writeNumbers(log, new Float64Array(300), list, last);
    expect(log.take().length).toBe(1);
  });
});
