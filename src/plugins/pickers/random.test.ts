import { describe, expect, it } from 'vitest';
import { makeContext, makeEndpoint, makeRuntime } from '../../../test/makers.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { randomPicker } from './random.ts';

describe('random-picker', () => {
  it('gives every candidate the same chance, whatever its score', () => {
    const picker = randomPicker.create(randomPicker.config.parse({}), makeRuntime());
    const candidates = [0, 1, 7].map((score, slot) => ({
      endpoint: makeEndpoint(`pod-${slot}`, { slot }),
      score,
    }));
    const counts = [0, 0, 0];
    for (let seed = 0; seed < 3000; seed++) {
      const [picked] = picker.pick(candidates, makeContext({ random: seededRandom(seed) }));
      if (picked !== undefined)
        counts[picked.endpoint.slot] = (counts[picked.endpoint.slot] ?? 0) + 1;
    }
    // 5 standard deviations around 1000; the seeds are pinned.
    expect(counts.filter((count) => Math.abs(count - 1000) > 130)).toEqual([]);
  });
});
