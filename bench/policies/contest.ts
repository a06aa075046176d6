import { readFileSync } from 'node:fs';
import { packageFile } from '../../src/files/folders.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { DISAGGREGATION_RIVALS } from './disaggregation-rivals.ts';
import { RIVALS, type Rival } from './rivals.ts';
import type { Figure } from './standings.ts';

/** As shipped it has the other objective, for which decoders are to be evenly full: see docs/disaggregation.md. */
const DECIDER = '- type: cost-pd-decider\n';
const EVENLY_FULL = '      - { pluginRef: active-request-scorer }\n';

/** Who is compared on a scenario. */
export interface Contest {
  /** Ours, as it is shipped for such a pool: a configuration's name or text. */
  readonly ours: string;
  readonly rivals: readonly Rival[];
  /** What is to be small. */
  readonly figure: Figure;
}

export function contestOf({ disaggregated: objective }: Scenario): Contest {
  if (objective === undefined) return { ours: 'default', rivals: RIVALS, figure: 'ttftMeanMs' };
  const shipped = readFileSync(packageFile('deploy/disaggregation.yaml'), 'utf8');
  const rivals = DISAGGREGATION_RIVALS;
  if (objective === 'end-to-end') return { ours: shipped, rivals, figure: 'e2eMeanMs' };
  const ours = shipped
    .replace(DECIDER, `${DECIDER}    parameters: {objective: first-token}\n`)
    .replace(EVENLY_FULL, '');
  return { ours, rivals, figure: 'ttftMeanMs' };
}
