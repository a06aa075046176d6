import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DynamicTable } from './dynamic-table.ts';
import { type HeaderField, headerField } from './header-field.ts';

/** Exactly 16 empty fields. */
const CAPACITY_BYTES = 512;

/** What the table is by RFC 7541, 4, the newest field first. */
class PlainTable {
  fields: readonly HeaderField[] = [];
  bytesMax = CAPACITY_BYTES;

  add(field: HeaderField): void {
    this.fields = [field, ...this.fields];
    this.evict();
  }

  evict(): void {
    while (this.bytes > this.bytesMax) this.fields = this.fields.slice(0, -1);
  }

  get bytes(): number {
    return this.fields.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}

it('[V182] the table of a connection holds the newest fields that fit, and no others', () => {
  const lengths = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(60));
  const added = lengths.map((length) => headerField('', 'v'.repeat(length)));
  const large = fc.constant(headerField('', 'v'.repeat(CAPACITY_BYTES)));
  const resized = fc.nat({ max: CAPACITY_BYTES });
  const steps = fc.array(
    fc.oneof({ weight: 20, arbitrary: added }, large, { weight: 2, arbitrary: resized }),
    { maxLength: 100 },
  );
  fc.assert(
    fc.property(steps, (each) => {
      const table = new DynamicTable(CAPACITY_BYTES, CAPACITY_BYTES);
      const plain = new PlainTable();
      for (const step of each) {
        if (typeof step === 'number') {
          table.resize(step);
          plain.bytesMax = step;
          plain.evict();
        } else {
          table.add(step);
          plain.add(step);
        }
        const held = plain.fields.map((_, index) => table.at(index));
        expect(held).toEqual(plain.fields);
        expect(table.at(plain.fields.length)).toBeUndefined();
      }
    }),
    { numRuns: 200, seed: 182 },
  );
});
