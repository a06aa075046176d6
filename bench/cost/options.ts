import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PAIRS_DEFAULT, requireCheckout } from './against.ts';
import type { Timing } from './measure-row.ts';
import { type CostRow, GROUPS } from './row.ts';
import { COST_ROWS } from './rows.ts';

const ROW_IDS = COST_ROWS.map(({ id }) => id).join(' ');

const HELP = `npm run bench -- cost [options]

Measures the CPU of the picker per request through a real Envoy, the time that requests take, its
memory, scraping and start, and compares them with what is asked, with the reference picker's
figures and with a bare Go echo (the yardstick).

  --json             print one JSON document on stdout, progress on stderr
  --only <name,…>    measure some rows only, by group or by row
                     groups: ${GROUPS.join(' ')}
                     rows: ${ROW_IDS}
  --quick            measure short rounds: half the time, wider ranges
  --profile <folder> write V8 CPU profiles of the picker there, without the yardstick
  --node-flags=<…>   start the picker's Node with these flags, such as "--trace-gc"
  --against <folder> compare with the picker of another checkout in place of the yardstick;
                     a ratio is ours divided by the other's
  --pairs <n>        pairs of processes for --against (${PAIRS_DEFAULT})
  --ours-flags=<…>   flags of serve for our side only, such as "--tracing" with --against .
  --verbose          print the output of the processes
`;

const TIMING: Timing = { warmUpMs: 4000, warmUpRequests: 30_000, windowMs: 2500, rounds: 4 };
const QUICK: Timing = { warmUpMs: 2000, warmUpRequests: 10_000, windowMs: 1200, rounds: 3 };

const OPTIONS = {
  help: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  only: { type: 'string' },
  quick: { type: 'boolean', default: false },
  profile: { type: 'string' },
  'node-flags': { type: 'string', default: '' },
  against: { type: 'string' },
  'ours-flags': { type: 'string', default: '' },
  pairs: { type: 'string', default: String(PAIRS_DEFAULT) },
  verbose: { type: 'boolean', default: false },
} as const;

export interface CostOptions {
  readonly rows: readonly CostRow[];
  readonly timing: Timing;
  readonly json: boolean;
  readonly verbose: boolean;
  /** A folder for CPU profiles. */
  readonly profile: string | undefined;
  readonly nodeFlags: readonly string[];
  readonly oursFlags: readonly string[];
  /** Another checkout, and how often it is measured; undefined for the yardstick. */
  readonly against: { readonly folder: string; readonly pairs: number } | undefined;
}

/** The help as a text where it was asked for. Throws on options that cannot be. */
export function costOptions(): CostOptions | string {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) return HELP;
  const { json, verbose, profile } = values;
  const against = values.against === undefined ? undefined : resolve(values.against);
  if (against !== undefined) requireCheckout(against);
  const pairs = Number(values.pairs);
  if (!Number.isInteger(pairs) || pairs < 1) {
    throw new Error(`--pairs: ${JSON.stringify(values.pairs)} is no whole number from 1 on`);
  }
  return {
    rows: chosenRows(values.only),
    timing: values.quick ? QUICK : TIMING,
    json,
    verbose,
    profile,
    nodeFlags: words(values['node-flags']),
    oursFlags: words(values['ours-flags']),
    against: against === undefined ? undefined : { folder: against, pairs },
  };
}

function words(text: string): readonly string[] {
  return text.split(' ').filter((flag) => flag !== '');
}

function chosenRows(only: string | undefined): readonly CostRow[] {
  if (only === undefined) return COST_ROWS;
  const names = only.split(',');
  for (const name of names) {
    if (COST_ROWS.some(({ id, group }) => id === name || group === name)) continue;
    const known = `${GROUPS.join(' ')} ${ROW_IDS}`;
    throw new Error(`--only: there is no row or group ${JSON.stringify(name)}, but ${known}`);
  }
  return COST_ROWS.filter(({ id, group }) => names.includes(id) || names.includes(group));
}
