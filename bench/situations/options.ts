import { BASELINES } from '../policies/baselines.ts';
import type { ScenarioSize } from '../scenarios/scenario.ts';
import { parseOptions } from '../support/parse-options.ts';

export interface SituationOptions {
  readonly only: readonly string[] | undefined;
  readonly draws: number;
  readonly size: ScenarioSize;
  readonly rivals: readonly string[];
  readonly minutes: number;
  readonly json: boolean;
  readonly help: boolean;
}

/** Each of another kind; the other baselines are seldom the best one here. */
const RIVALS = [
  'round-robin',
  'least-request',
  'reference-default',
  'sticky',
  'token-load',
  'lmetric',
  'dynamo',
  'preble',
];

export const HELP: string = `npm run bench -- situations [options]

The default policy and others, untuned, in situations that people have: unusual lengths, unequal
servers, wrong reports. The table has a row for each situation, where the default is worst first.

  --only A,B          only these situations
  --draws N           cases of each situation (2); everything about one is drawn from its number
  --size small|full   size of each case (full)
  --rivals A,B|all    the policies to compare with (${RIVALS.join(',')})
  --minutes N         begin no situation after so long (15)
  --json              print one JSON document
`;

export function readOptions(args?: readonly string[]): SituationOptions {
  const { values } = parseOptions({
    ...(args && { args: [...args] }),
    options: {
      only: { type: 'string' },
      draws: { type: 'string', default: '2' },
      size: { type: 'string', default: 'full' },
      rivals: { type: 'string', default: RIVALS.join(',') },
      minutes: { type: 'string', default: '15' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, draws, size, rivals, minutes, ...flags } = values;
  return {
    ...flags,
    only: only?.split(','),
    draws: Number(draws),
    size: size === 'small' ? 'small' : 'full',
    rivals: rivals === 'all' ? BASELINES.map(({ name }) => name) : rivals.split(','),
    minutes: Number(minutes),
  };
}
