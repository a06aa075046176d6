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

/** Terms beyond these are left out. */
export const TERMS_MAX = 64;

/** A scorer's numbers that were written last: the next are written as what differs. */
export class LastNumbers {
  /** By slot. */
  scores: Float64Array = unknown(TERMS_MAX);
  /** By place in `ScorerLayout.terms`. */
  readonly terms: Float64Array = unknown(TERMS_MAX);

  /** Makes room for the scores of slots below `slotsEnd`. */
  reserve(slotsEnd: number): void {
    if (slotsEnd <= this.scores.length) return;
    const grown = unknown(2 * slotsEnd);
    grown.set(this.scores);
    this.scores = grown;
  }

  forget(): void {
    this.scores.fill(Number.NaN);
    this.terms.fill(Number.NaN);
  }
}

/** Numbers that differ from all numbers. */
function unknown(count: number): Float64Array {
  return new Float64Array(count).fill(Number.NaN);
}
