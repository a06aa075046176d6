import type { ScoreAccount } from '../../framework/scheduling.ts';

/** A scorer where it is used. */
export interface ScorerLayout {
  readonly name: string;
  readonly type: string;
  readonly weight: number;
  readonly account: ScoreAccount | undefined;
}

/** A profile's plugins, numbered in the order in which they were made: what the bytes of decisions refer to. */
export interface ProfileLayout {
  readonly name: string;
  readonly filters: string[];
  readonly scorers: ScorerLayout[];
}

/** Of one plan. */
export type Layout = ProfileLayout[];

/** The number of the profile with this name, which is added where it is new. */
export function profileNumber(layout: Layout, name: string): number {
  const known = layout.findIndex((profile) => profile.name === name);
  if (known >= 0) return known;
  return layout.push({ name, filters: [], scorers: [] }) - 1;
}
