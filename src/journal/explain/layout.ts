import type { WeightedScorer } from '../../framework/scheduling.ts';

export interface ScorerLayout extends Pick<WeightedScorer, 'name' | 'type' | 'weight'> {
  /** The names of its terms, in their order; empty until it has first explained a score. */
  terms: readonly string[];
}

/** The plugins of a profile in order: records refer to them by their places. */
export interface ProfileLayout {
  readonly name: string;
  readonly filters: readonly string[];
  readonly scorers: readonly ScorerLayout[];
}

/** Profiles by the numbers in records. Profiles are added, never changed or removed. */
export type Layout = ProfileLayout[];

/** A scorer's numbers that were written last: the next are written as what differs. */
export interface LastNumbers {
  /** Scores by slot. */
  readonly scores: number[];
  /** By place in `ScorerLayout.terms`. */
  readonly terms: number[];
}

export function noLastNumbers(): LastNumbers {
  return { scores: [], terms: [] };
}
