import type { Endpoint } from '../../framework/endpoint.ts';
import { definePicker, type PickerDefinition } from '../../framework/plugin.ts';
import type { Random } from '../../framework/runtime.ts';
import { type ScoredEndpoint, scoredOf } from '../../framework/scheduling.ts';
import { pickerConfig } from './picker-config.ts';

/** Picks the highest totals; ties fall to the cycle's random numbers, which replays draw again. */
export const maxScorePicker: PickerDefinition = definePicker({
  type: 'max-score-picker',
  config: pickerConfig,
  create: ({ maxNumOfEndpoints: most }) => ({
    pick(candidates, { random }) {
      if (most > 1) return ranked(candidates, random).slice(0, most);
      const best = highest(
        candidates.map(({ score }) => score),
        random,
      );
      return [candidates[best] as ScoredEndpoint];
    },
    pickFrom(candidates, { random }) {
      if (most > 1) return ranked(scoredOf(candidates), random).slice(0, most);
      const { endpoints, totals } = candidates;
      const best = highest(totals, random);
      return [{ endpoint: endpoints[best] as Endpoint, score: totals[best] as number }];
    },
  }),
});

/**
 * The place of the highest. One pass; each of k equals is kept with probability 1/k (reservoir
 * sampling).
 */
function highest(totals: readonly number[], random: Random): number {
  let best = 0;
  let most = totals[0] as number;
  let ties = 1;
  for (let index = 1; index < totals.length; index++) {
    const total = totals[index] as number;
    if (total > most) {
      best = index;
      most = total;
      ties = 1;
    } else if (total === most) {
      ties += 1;
      if (random.next() * ties < 1) best = index;
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
