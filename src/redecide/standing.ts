import type { Endpoint } from '../framework/endpoint.ts';
import {
  type Decision,
  type ProfileRun,
  type ScoredEndpoint,
  scoredOf,
} from '../framework/scheduling.ts';

/** How the endpoint that a request went to (`was`) compares with the one chosen now (`is`). */
export interface Standing {
  /** The number of scored endpoints: what the filters left, or what a replacement named. */
  readonly candidates: number;
  /** Undefined where the endpoint was not scored. */
  readonly scores: { readonly was: number; readonly is: number } | undefined;
  /** The weighted score of each scorer for both; the largest difference first. */
  readonly terms: readonly { readonly scorer: string; readonly was: number; readonly is: number }[];
}

/** The endpoints that the decision chose from. */
interface Choice {
  readonly candidates: readonly ScoredEndpoint[];
  readonly first: Endpoint | undefined;
  readonly run: ProfileRun | undefined;
}

/** The rank of an endpoint: 1 where no score is higher; undefined where it was not scored. */
export function rankIn(endpoint: Endpoint, decision: Decision): number | undefined {
  const { candidates } = choiceOf(decision);
  const own = candidates.find((each) => each.endpoint.id === endpoint.id);
  if (own === undefined) return undefined;
  return 1 + candidates.filter(({ score }) => score > own.score).length;
}

/** The score of an endpoint; undefined where it was not scored. */
export function scoreIn({ id }: Endpoint, decision: Decision): number | undefined {
  return choiceOf(decision).candidates.find(({ endpoint }) => endpoint.id === id)?.score;
}

/** The endpoints with the best score: a picker that breaks ties at random may name any. */
export function bestOf(decision: Decision): readonly Endpoint['id'][] {
  const { candidates } = choiceOf(decision);
  const most = Math.max(...candidates.map(({ score }) => score));
  return candidates.filter(({ score }) => score === most).map(({ endpoint }) => endpoint.id);
}

/** Where the endpoint stands among the scores of another decision. */
export function standingOf(endpoint: Endpoint, decision: Decision): Standing {
  const { candidates, first, run } = choiceOf(decision);
  const scoreOf = (id: Endpoint['id'] | undefined): number | undefined =>
    candidates.find((each) => each.endpoint.id === id)?.score;
  const [was, is] = [scoreOf(endpoint.id), scoreOf(first?.id)];
  if (was === undefined || is === undefined) {
    return { candidates: candidates.length, scores: undefined, terms: [] };
  }
  const at = (id: Endpoint['id'] | undefined): number =>
    candidates.findIndex((each) => each.endpoint.id === id);
  const [wasAt, isAt] = [at(endpoint.id), at(first?.id)];
  const terms = (run?.profile.scorers ?? []).map(({ name, weight }, scorer) => {
    const scores = run?.scores[scorer] ?? [];
    const term = (index: number): number => weight * (scores[index] ?? Number.NaN);
    return { scorer: name, was: term(wasAt), is: term(isAt) };
  });
  const difference = (term: { was: number; is: number }): number => Math.abs(term.was - term.is);
  return {
    candidates: candidates.length,
    scores: { was, is },
    terms: terms.toSorted((a, b) => difference(b) - difference(a)),
  };
}

function choiceOf({ primary, profiles, decidedBy, named }: Decision): Choice {
  if (primary.kind !== 'picked') return { candidates: [], first: undefined, run: undefined };
  const first = primary.targets[0]?.endpoint;
  if (decidedBy !== undefined) {
    return { candidates: named ?? primary.targets, first, run: undefined };
  }
  const chosen = [primary, ...profiles].find(
    (each) =>
      each.kind === 'picked' && each.run !== undefined && each.targets[0]?.endpoint === first,
  );
  const run = chosen?.run;
  return { candidates: run === undefined ? [] : scoredOf(run), first, run };
}
