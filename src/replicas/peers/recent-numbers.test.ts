import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecentNumbers } from './recent-numbers.ts';

/** Numbers that are remembered for sure. */
const LEAST = 8;

it('[G220] remembers the last numbers in whatever order they come, and none that never came', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 20 }), { maxLength: 60 }), (numbers) => {
      const recent = new RecentNumbers(LEAST);
      const added: number[] = [];
      for (const number of numbers) {
        recent.add(number);
        added.push(number);
        const last = new Set(added.slice(-LEAST));
        for (let asked = -21; asked <= 21; asked++) {
          if (last.has(asked)) expect(recent.has(asked)).toBe(true);
          if (!added.includes(asked)) expect(recent.has(asked)).toBe(false);
        }
      }
    }),
    { seed: 220 },
  );
});
