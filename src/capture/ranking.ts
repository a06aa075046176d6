import type { PluginWrap } from '../config/instantiate.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { SchedulingResult, ScoredEndpoint } from '../framework/scheduling.ts';

/** What one profile's picker was given, and what it named first. */
interface Choice {
  readonly candidates: readonly ScoredEndpoint[];
  readonly first: Endpoint | undefined;
}

/** Remembers the scores of a cycle, of which the result shows only those of the picked. */
export class Ranking {
  #choices: Choice[] = [];

  /** To be put around the plugins that are watched. */
  readonly wrap: PluginWrap = {
    filter: (_plugin, filter) => filter,
    scorer: (_plugin, scorer) => scorer,
    picker: (_plugin, picker) => ({
      pick: (candidates, context) => {
        const picked = picker.pick(candidates, context);
        this.#choices.push({ candidates, first: picked[0]?.endpoint });
        return picked;
      },
    }),
  };

  /** Forgets the last cycle. */
  begin(): void {
    this.#choices = [];
  }

  /** 1 for an endpoint than which no other was scored higher; undefined where it was not scored at all. */
  placeOf(endpoint: Endpoint, result: SchedulingResult): number | undefined {
    const scored = this.#scoresOf(result);
    const own = scored.find((each) => each.endpoint.id === endpoint.id);
    if (own === undefined) return undefined;
    return 1 + scored.filter(({ score }) => score > own.score).length;
  }

  #scoresOf({ primary, decidedBy }: SchedulingResult): readonly ScoredEndpoint[] {
    if (primary.kind !== 'picked') return [];
    if (decidedBy !== undefined) return primary.targets;
    const first = primary.targets[0]?.endpoint;
    return this.#choices.findLast((choice) => choice.first === first)?.candidates ?? [];
  }
}
