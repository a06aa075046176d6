import type { Scenario } from '../scenarios/scenario.ts';
import { LENGTHS } from './lengths.ts';
import { POOLS } from './pools.ts';
import { scenarioOfSituation } from './situation.ts';
import { TRAFFICS } from './traffics.ts';

/** Traffic and pools that people have, each of another kind. */
export const SITUATIONS: readonly Scenario[] = [...TRAFFICS, ...LENGTHS, ...POOLS].map(
  scenarioOfSituation,
);
