import { definePicker, type PickerDefinition } from '../../framework/plugin.ts';
import type { Random } from '../../framework/runtime.ts';
import type { ScoredEndpoint } from '../../framework/scheduling.ts';
import { pickerConfig } from './picker-config.ts';

/** Picks the highest totals; ties fall to the cycle's random numbers, which replays draw again. */
export const maxScorePicker: PickerDefinition = definePicker({
  type: 'max-score-picker',
  config: pickerConfig,
  create: ({ maxNumOfEndpoints }) => ({
    pick: (candidates, { random }) =>
      maxNumOfEndpoints === 1
        ? [highest(candidates, random)]
        : ranked(candidates, random).slice(0, maxNumOfEndpoints),
  }),
});

/** One pass; each of k equals is kept with probability 1/k (reservoir sampling). */
function highest(candidates: readonly ScoredEndpoint[], random: Random): ScoredEndpoint {
  let best = candidates[0] as ScoredEndpoint;
  let ties = 1;
  for (let index = 1; index < candidates.length; index++) {
    const candidate = candidates[index] as ScoredEndpoint;
    if (candidate.score > best.score) {
      best = candidate;
      ties = 1;
    } else if (candidate.score === best.score) {
      ties += 1;
      if (random.next() * ties < 1) best = candidate;
    }
  }
  return best;
}

function ranked(candidates: readonly ScoredEndpoint[], random: Random): readonly ScoredEndpoint[] {
  return candidates
    .map((candidate) => ({ candidate, lot: random.next() }))
    .sort((a, b) => b.candidate.score - a.candidate.score || a.lot - b.lot)
    .map(({ candidate }) => candidate);
}
