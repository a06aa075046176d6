import type { Endpoint } from '../../framework/endpoint.ts';
import type { SchedulingResult, ScoredEndpoint } from '../../framework/scheduling.ts';
import type { PluginWrap } from '../../picker/plan/instantiate.ts';

/** What one scorer gave, times its weight. */
interface Term {
  readonly scorer: string;
  readonly weight: number;
  readonly endpoints: readonly Endpoint[];
  readonly scores: readonly number[];
}

/** What one profile's picker was given, and what it named first. */
interface Choice {
  readonly candidates: readonly ScoredEndpoint[];
  readonly first: Endpoint | undefined;
  readonly terms: readonly Term[];
}

/** How one endpoint stands to the one that was chosen. */
export interface Standing {
  /** Scored along with it; those that filters left, or that a scheduler in place of the profiles named. */
  readonly candidates: number;
  /** Of the endpoint, and of the chosen one. Undefined where the endpoint is none of the candidates. */
  readonly scores: { readonly was: number; readonly is: number } | undefined;
  /** What each scorer gives the endpoint and the chosen one, times its weight; where they differ most first. */
  readonly terms: readonly { readonly scorer: string; readonly was: number; readonly is: number }[];
}

/** Remembers the scores of a cycle, of which the result shows only those of the picked. */
export class Ranking {
  #choices: Choice[] = [];
  #terms: Term[] = [];
  readonly #keepsTerms: boolean;

  constructor({ keepsTerms }: { readonly keepsTerms: boolean }) {
    this.#keepsTerms = keepsTerms;
  }

  /** To be put around the plugins that are watched. */
  readonly wrap: PluginWrap = {
    filter: (_plugin, filter) => filter,
    scorer: ({ name }, scorer, { weight }) =>
      this.#keepsTerms
        ? {
            score: (endpoints, context) => {
              const scores = scorer.score(endpoints, context);
              // The scorer may use the array again.
              this.#terms.push({ scorer: name, weight, endpoints, scores: [...scores] });
              return scores;
            },
          }
        : scorer,
    picker: (_plugin, picker) => ({
      pick: (candidates, context) => {
        const picked = picker.pick(candidates, context);
        this.#choices.push({ candidates, first: picked[0]?.endpoint, terms: this.#terms });
        this.#terms = [];
        return picked;
      },
    }),
  };

  /** Forgets the last cycle. */
  begin(): void {
    this.#choices = [];
    this.#terms = [];
  }

  /** 1 for an endpoint than which no other was scored higher; undefined where it was not scored at all. */
  placeOf(endpoint: Endpoint, result: SchedulingResult): number | undefined {
    const { candidates } = this.#choiceOf(result);
    const own = candidates.find((each) => each.endpoint.id === endpoint.id);
    if (own === undefined) return undefined;
    return 1 + candidates.filter(({ score }) => score > own.score).length;
  }

  /** Terms are there only where they are kept. */
  standingOf(endpoint: Endpoint, result: SchedulingResult): Standing {
    const { candidates, terms, first } = this.#choiceOf(result);
    const scoreOf = (id: Endpoint['id'] | undefined): number | undefined =>
      candidates.find((each) => each.endpoint.id === id)?.score;
    const [was, is] = [scoreOf(endpoint.id), scoreOf(first?.id)];
    const scores = was === undefined || is === undefined ? undefined : { was, is };
    const standings = terms.map(({ scorer, weight, endpoints, scores: given }) => {
      const of = (id: Endpoint['id'] | undefined): number =>
        weight * (given[endpoints.findIndex((each) => each.id === id)] ?? Number.NaN);
      return { scorer, was: of(endpoint.id), is: of(first?.id) };
    });
    const apart = (term: { was: number; is: number }): number => Math.abs(term.was - term.is);
    return {
      candidates: candidates.length,
      scores,
      terms: scores === undefined ? [] : standings.toSorted((a, b) => apart(b) - apart(a)),
    };
  }

  #choiceOf({ primary, decidedBy }: SchedulingResult): Choice {
    const none = { candidates: [], first: undefined, terms: [] };
    if (primary.kind !== 'picked') return none;
    const first = primary.targets[0]?.endpoint;
    if (decidedBy !== undefined) return { candidates: primary.targets, first, terms: [] };
    return this.#choices.findLast((choice) => choice.first === first) ?? none;
  }
}
