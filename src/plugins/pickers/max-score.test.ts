import { describe, expect, it } from 'vitest';
import { makeContext, makeEndpoint, makeRuntime } from '../../../test/makers.ts';
import type {
  Picker,
  SchedulingContext,
  ScoredEndpoint,
  Totals,
} from '../../framework/scheduling.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { maxScorePicker } from './max-score.ts';

const candidates: readonly ScoredEndpoint[] = [0.5, 2, 1, 2, 0].map((score, slot) => ({
  endpoint: makeEndpoint(`pod-${slot}`, { slot }),
  score,
}));

const totals: Totals = {
  endpoints: candidates.map(({ endpoint }) => endpoint),
  totals: candidates.map(({ score }) => score),
};

function pickerOf(maxNumOfEndpoints: number): Picker {
  return maxScorePicker.create(maxScorePicker.config.parse({ maxNumOfEndpoints }), makeRuntime());
}

function slotsPicked(maxNumOfEndpoints: number, seed: number): readonly number[] {
  const context = makeContext({ random: seededRandom(seed) });
  return pickerOf(maxNumOfEndpoints)
    .pick(candidates, context)
    .map(({ endpoint }) => endpoint.slot);
}

describe('max-score-picker', () => {
  it('picks the highest score, and either of two equals', () => {
    const picked = new Set(Array.from({ length: 20 }, (_, seed) => slotsPicked(1, seed)[0]));
    expect(picked).toEqual(new Set([1, 3]));
  });

  it('names fallbacks from the best down, equals in either order', () => {
    const orders = Array.from({ length: 20 }, (_, seed) => slotsPicked(4, seed).join());
    expect(new Set(orders)).toEqual(new Set(['1,3,2,0', '3,1,2,0']));
  });

  it('[B250] picks the same from totals as from candidates', () => {
    for (let seed = 0; seed < 20; seed++) {
      for (const most of [1, 4]) {
        const [from, pick] = [0, 1].map(() => makeContext({ random: seededRandom(seed) }));
        const picker = pickerOf(most);
        expect(picker.pickFrom?.(totals, from as SchedulingContext)).toEqual(
          picker.pick(candidates, pick as SchedulingContext),
        );
      }
    }
  });
});
