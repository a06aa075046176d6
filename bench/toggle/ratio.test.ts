import { expect, it } from 'vitest';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { ratioOf } from './ratio.ts';

it('[O191] finds a small ratio under noise that moves both sides, with an interval that holds it', () => {
  const chance = seededRandom(7);
  let held = 0;
  for (let run = 0; run < 200; run++) {
    const blocks = Array.from({ length: 30 }, () => {
      // A neighbour on the machine makes everything up to three times as dear.
      const slow = 1 + 2 * chance.next();
      const noise = (): number => slow * (0.98 + 0.04 * chance.next());
      return { without: [noise(), noise()], with: [1.03 * noise(), 1.03 * noise()] };
    });
    const { median, low, high, blocks: count } = ratioOf(blocks);
    expect(count).toBe(30);
    expect(median).toBeGreaterThan(1.015);
    expect(median).toBeLessThan(1.045);
    if (low <= 1.03 && 1.03 <= high) held += 1;
  }
  expect(held).toBeGreaterThan(180);
});
