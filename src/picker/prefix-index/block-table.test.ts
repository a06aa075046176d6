import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { BlockTable } from './block-table.ts';
import { withRoom } from './with-room.ts';

const SEED = 11;

describe('the table of blocks', () => {
  test('[G175] finds what is in it, and nothing else, at each step of its growth', () => {
    const random = seededRandom(SEED);
    const below = (bound: number) => Math.floor(random.next() * bound);
    const table = new BlockTable();
    const inserted = new Map<number, { readonly low: number; readonly high: number }>();
    const free: number[] = [];
    let used = 0;
    for (let step = 0; step < 3000; step++) {
      const known = [...(step % 50 === 0 ? inserted.keys() : [])];
      const gone = known[below(Math.max(1, known.length))];
      if (gone !== undefined) {
        table.remove(gone);
        inserted.delete(gone);
        free.push(gone);
      }
      const entry = free.pop() ?? used++;
      // Few low words: long runs of probes, which each removal has to close.
      const key = { low: (0xffff_fff0 + below(64 + used)) >>> 0, high: step };
      table.setKey(entry, key.low, key.high);
      table.insert(entry);
      inserted.set(entry, key);
      const some = below(used);
      const wanted = inserted.get(some);
      if (wanted !== undefined) expect(table.find(wanted.low, wanted.high)).toBe(some);
      expect(table.find(key.low, step + 1)).toBe(-1);
    }
    expect(table.size).toBe(inserted.size);
    for (const [entry, { low, high }] of inserted) {
      expect([table.find(low, high), table.low(entry), table.high(entry)]).toEqual([
        entry,
        low,
        high,
      ]);
    }
  });

  test('[G175] an array is copied seldom: a long one gets room for many more at once', () => {
    const short = Int32Array.of(1, 2);
    expect(withRoom(short, 2)).toBe(short);
    expect([...withRoom(short, 3)]).toEqual([1, 2, 0, 0]);
    const long = withRoom(new Uint16Array(1_000_000).fill(7), 1_500_000);
    expect([long[999_999], long[1_000_000]]).toEqual([7, 0]);
    expect(withRoom(long, 16_000_000)).toBe(long);
    expect(withRoom(long, 20_000_000)).toHaveLength(2 * long.length);
  });
});
