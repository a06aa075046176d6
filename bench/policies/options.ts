import type { ScenarioSize } from '../scenarios/scenario.ts';
import { parseOptions } from '../support/parse-options.ts';

export interface PolicyOptions {
  /** The folder with the recorded traces. */
  readonly traces?: string;
  readonly seeds: number;
  readonly drawnSeeds: number;
  readonly size: ScenarioSize;
  readonly only: readonly string[] | undefined;
  readonly drawn: number | undefined;
  readonly other: number | undefined;
  readonly alone: boolean;
  readonly tune: boolean;
  readonly waiting: boolean;
  readonly minutes: number;
  readonly out: string | undefined;
  readonly json: boolean;
  readonly help: boolean;
}

export const HELP = `npm run bench -- policies [options]

  --traces DIR        folder with mooncake-conversation.jsonl and azure-2023-conversation.csv
                      (default: the folder that POINTSMAN_TRACES names); without it the four
                      scenarios on them are missing
  --seeds N           draws of each chosen scenario (4)
  --drawn-seeds N     draws of each scenario that is drawn at random (2)
  --size small|full   size of each scenario (full)
  --only A,B          run only these scenarios, such as chat or drawn-3
  --drawn N           run N random scenarios instead (drawn-1 …): pool, prompts and load are drawn
  --other N           run N random scenarios on engines by other rules than the stub's instead
  --tune              find the best settings of every other policy for each scenario, and write
                      them to bench/policies/tuned.json, from which a comparison takes them
  --waiting           compare also with the best untuned policy whose requests wait as ours do
  --alone             say only how much room there is: each request alone on the fastest server,
                      and the memory of all servers one cache
  --minutes N         begin no scenario after so long (15; with --tune 600)
  --out DIR           write policies.json and policies.html there
  --json              print one JSON document
`;

export function readOptions(): PolicyOptions {
  const { values } = parseOptions({
    options: {
      traces: { type: 'string' },
      seeds: { type: 'string', default: '4' },
      'drawn-seeds': { type: 'string', default: '2' },
      size: { type: 'string', default: 'full' },
      only: { type: 'string' },
      drawn: { type: 'string' },
      other: { type: 'string' },
      alone: { type: 'boolean', default: false },
      tune: { type: 'boolean', default: false },
      waiting: { type: 'boolean', default: false },
      out: { type: 'string' },
      minutes: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { seeds, size, only, drawn, other, minutes, out, ...flags } = values;
  const traces = values.traces ?? process.env['POINTSMAN_TRACES'];
  return {
    ...flags,
    ...(traces !== undefined && { traces }),
    seeds: Number(seeds),
    drawnSeeds: Number(values['drawn-seeds']),
    size: size === 'small' ? 'small' : 'full',
    only: only?.split(','),
    drawn: drawn === undefined ? undefined : Number(drawn),
    other: other === undefined ? undefined : Number(other),
    minutes: Number(minutes ?? (values.tune ? 600 : 15)),
    out,
  };
}
