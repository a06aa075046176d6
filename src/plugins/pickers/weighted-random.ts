import { definePicker, type PickerDefinition } from '../../framework/plugin.ts';
import { pickerConfig } from './picker-config.ts';

/**
 * Draws candidates at random in proportion to their scores, without replacement (Efraimidis and
 * Spirakis, A-Res: the largest U^(1/score) win). Candidates with score 0 come after all others, as
 * fallbacks only; where all have score 0, all are equally likely.
 */
export const weightedRandomPicker: PickerDefinition = definePicker({
  type: 'weighted-random-picker',
  config: pickerConfig,
  create: ({ maxNumOfEndpoints }) => ({
    pick(candidates, { random }) {
      const scored = candidates.filter(({ score }) => score > 0);
      const drawn = scored.length === 0 ? candidates : scored;
      const best = drawn
        .map((candidate) => ({
          candidate,
          // log U / score orders as U^(1/score) does and does not underflow for small scores.
          key: Math.log(1 - random.next()) / (scored.length === 0 ? 1 : candidate.score),
        }))
        .sort((a, b) => b.key - a.key)
        .slice(0, maxNumOfEndpoints)
        .map(({ candidate }) => candidate);
      const missing = maxNumOfEndpoints - best.length;
      if (missing === 0 || best.length === candidates.length) return best;
      return [...best, ...candidates.filter(({ score }) => !(score > 0)).slice(0, missing)];
    },
  }),
});
