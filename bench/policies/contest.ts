import { readFileSync } from 'node:fs';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { packageFile } from '../../src/files/folders.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { BASELINES, type Baseline } from './baselines.ts';
import { DISAGGREGATION_BASELINES } from './disaggregation-baselines.ts';
import type { Figure } from './standings.ts';

/** As shipped: for end-to-end times, which need evenly full decoders (docs/disaggregation.md). */
const DECIDER = '- type: cost-pd-decider\n';
const EVENLY_FULL = '      - { pluginRef: active-request-scorer }\n';

/** A configuration by name or text, whose requests wait for their endpoint. */
function withHold(config: string, hold: string): string {
  const text = NAMED_CONFIGS.get(config) ?? config;
  return /^hold:/m.test(text) ? text : `${text}\nhold: ${hold}\n`;
}

/** How the requests of a baseline may wait, too, by name of their order. */
export const WAITING: ReadonlyMap<string, (config: string) => string> = new Map([
  ['fcfs', (config) => withHold(config, '{enabled: true, order: fcfs}')],
  ['response-ratio', (config) => withHold(config, '{enabled: true, order: response-ratio}')],
]);

/** A configuration by name or text, whose requests are placed at once. */
export function placedAtOnce(config: string): string {
  return (NAMED_CONFIGS.get(config) ?? config).replace(/^hold:.*$/m, 'hold: {enabled: false}');
}

/** The policies that are compared on a scenario. */
export interface Contest {
  /** Our policy as shipped for such a pool: the name or the text of a configuration. */
  readonly ours: string;
  readonly baselines: readonly Baseline[];
  /** The figure to minimize. */
  readonly figure: Figure;
}

export function contestOf({ disaggregated: objective }: Scenario): Contest {
  if (objective === undefined)
    return { ours: 'default', baselines: BASELINES, figure: 'ttftMeanMs' };
  const shipped = readFileSync(packageFile('deploy/disaggregation.yaml'), 'utf8');
  const baselines = DISAGGREGATION_BASELINES;
  if (objective === 'end-to-end') return { ours: shipped, baselines, figure: 'e2eMeanMs' };
  const ours = shipped
    .replace(DECIDER, `${DECIDER}    parameters: {objective: first-token}\n`)
    .replace(EVENLY_FULL, '');
  return { ours, baselines, figure: 'ttftMeanMs' };
}
