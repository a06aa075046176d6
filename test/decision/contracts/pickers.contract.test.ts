import { describe, expect, it } from 'vitest';
import type { ScoredEndpoint } from '../../../src/framework/scheduling.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { makeContext } from '../../makers.ts';
import { candidates, catalogue, runtime, SEED, SIZES } from './plugin-world.ts';

/**
 * 5 standard deviations of a count: a fair picker fails one seed in a million, and the seed is
 * pinned.
 */
function toleranceOf(draws: number, probability: number): number {
  return 5 * Math.sqrt(draws * probability * (1 - probability));
}

for (const definition of catalogue.pickers) {
  describe(`${definition.type} keeps the picker contract`, () => {
    const picker = (maxNumOfEndpoints?: number): ReturnType<typeof definition.create> =>
      definition.create(
        definition.config.parse(maxNumOfEndpoints === undefined ? {} : { maxNumOfEndpoints }),
        runtime,
      );
    const score = seededRandom(SEED);
    const sets = SIZES.filter((size) => size > 0).flatMap((size) => [
      candidates(Array.from({ length: size }, () => score.next() * 7)),
      candidates(Array.from({ length: size }, () => 1)),
      candidates(Array.from({ length: size }, () => 0)),
    ]);

    it('[K1] picks at least one candidate, each at most once, never more than asked for', () => {
      for (const set of sets) {
        for (const most of [1, 3, 1000]) {
          const picked = picker(most).pick(set, makeContext());
          expect(picked.length).toBeGreaterThan(0);
          expect(picked.length).toBeLessThanOrEqual(Math.min(most, set.length));
          expect(new Set(picked).size).toBe(picked.length);
          expect(picked.filter((each) => !set.includes(each))).toEqual([]);
        }
      }
    });

    it('[K2] picks the same again from the same stream of chance', () => {
      for (const set of sets) {
        const pick = (): readonly ScoredEndpoint[] =>
          picker(3).pick(set, makeContext({ random: seededRandom(SEED) }));
        expect(pick()).toEqual(pick());
      }
    });

    it.each([1, 0])('[K3] spreads ties evenly, at score %d', (tied) => {
      const set = candidates(Array.from({ length: 8 }, () => tied));
      const one = picker();
      const several = picker(3);
      const random = seededRandom(SEED);
      const draws = 8000;
      const first = new Map<ScoredEndpoint, number>();
      const second = new Map<ScoredEndpoint, number>();
      for (let turn = 0; turn < draws; turn++) {
        const context = makeContext({ random: random.fork(`r${turn}`) });
        const [single] = one.pick(set, context);
        const [, fallback] = several.pick(set, context);
        if (single !== undefined) first.set(single, (first.get(single) ?? 0) + 1);
        if (fallback !== undefined) second.set(fallback, (second.get(fallback) ?? 0) + 1);
      }
      for (const counts of [first, second]) {
        for (const each of set) {
          const offBy = Math.abs((counts.get(each) ?? 0) - draws / 8);
          expect(offBy, each.endpoint.id).toBeLessThan(toleranceOf(draws, 1 / 8));
        }
      }
    });

    it('[K4] names one endpoint unless asked for more, also where asked for none', () => {
      expect(picker().pick(candidates([1, 1, 1]), makeContext())).toHaveLength(1);
      expect(picker(0).pick(candidates([1, 1, 1]), makeContext())).toHaveLength(1);
    });

    it('[K5] refuses parameters it does not know', () => {
      expect(() => definition.config.parse({ nonsense: 1 })).toThrow();
    });
  });
}
