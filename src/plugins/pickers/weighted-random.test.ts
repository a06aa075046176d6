import { describe, expect, it } from 'vitest';
import { makeContext, makeEndpoint, makeRuntime } from '../../../test/makers.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { weightedRandomPicker } from './weighted-random.ts';

const DRAWS = 4000;

/** How often each slot came first. */
function counts(scores: readonly number[]): readonly number[] {
  const picker = weightedRandomPicker.create(weightedRandomPicker.config.parse({}), makeRuntime());
  const candidates = scores.map((score, slot) => ({
    endpoint: makeEndpoint(`pod-${slot}`, { slot }),
    score,
  }));
  const firsts = scores.map(() => 0);
  for (let seed = 0; seed < DRAWS; seed++) {
    const [picked] = picker.pick(candidates, makeContext({ random: seededRandom(seed) }));
    if (picked !== undefined)
      firsts[picked.endpoint.slot] = (firsts[picked.endpoint.slot] ?? 0) + 1;
  }
  return firsts;
}

describe('weighted-random-picker', () => {
  it('picks in proportion to the score', () => {
    const [one = 0, three = 0] = counts([1, 3]);
    // 5 standard deviations around 1000 and 3000; the seeds are pinned.
    expect(Math.abs(one - DRAWS / 4)).toBeLessThan(137);
    expect(one + three).toBe(DRAWS);
  });

  it('keeps proportion where the powers of the textbook formula would underflow', () => {
    const [one = 0] = counts([1e-6, 3e-6]);
    expect(Math.abs(one - DRAWS / 4)).toBeLessThan(137);
  });

  it('never picks a score of 0 beside others', () => {
    expect(counts([0, 0.01, 0])).toEqual([0, DRAWS, 0]);
  });

  it('names a score of 0 only as the last fallback', () => {
    const config = weightedRandomPicker.config.parse({ maxNumOfEndpoints: 3 });
    const picker = weightedRandomPicker.create(config, makeRuntime());
    const candidates = [0, 1, 0, 0].map((score) => ({ endpoint: makeEndpoint('a'), score }));
    expect(picker.pick(candidates, makeContext())).toEqual([
      candidates[1],
      candidates[0],
      candidates[2],
    ]);
  });
});
