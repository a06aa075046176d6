import { resolve } from 'node:path';
import { parseOptions } from '../support/parse-options.ts';
import { PAIRS_DEFAULT, requireCheckout } from './against.ts';
import type { GoOptions } from './beside-go/beside-go.ts';
import { GO_ROWS } from './beside-go/rows.ts';
import type { Timing } from './measure-row.ts';
import { type CostRow, GROUPS } from './row.ts';
import { COST_ROWS } from './rows.ts';

const ROW_IDS = COST_ROWS.map(({ id }) => id).join(' ');
const GO_ROW_IDS = GO_ROWS.map(({ id }) => id).join(' ');
/** With two processes of each picker, warm-up and turns of all rows take 13 minutes. */
const GO_PAIRS_DEFAULT = 2;

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
  --go               compare with the endpoint picker of the Gateway API Inference Extension, which is
                     built with Go once, in place of the yardstick: ours with the same scorers
                     (reference-default) and with its own default, behind the same Envoy configuration,
                     in turn. Ends with code 1 where a request at 200 a second takes more than 0.8 of its CPU
                     groups: cpu latency
                     rows: ${GO_ROW_IDS}
  --pairs <n>        pairs of processes for --against (${PAIRS_DEFAULT}) and --go (${GO_PAIRS_DEFAULT})
  --ours-flags=<…>   flags of serve for our side only, such as "--tracing" with --against .
  --verbose          print the output of the processes
`;

const TIMING: Timing = { warmUpMs: 4000, warmUpRequests: 30_000, windowMs: 2500, rounds: 4 };
const GO_TIMING = { closedTurns: 6, openTurns: 4 };
const GO_QUICK = { closedTurns: 3, openTurns: 2 };
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
  go: { type: 'boolean', default: false },
  pairs: { type: 'string' },
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
  /** What is measured beside the Go picker, if it takes the place of the yardstick. */
  readonly go: GoOptions | undefined;
}

/** The help as a text where it was asked for. Throws on options that cannot be. */
export function costOptions(): CostOptions | string {
  const { values } = parseOptions({ options: OPTIONS });
  if (values.help) return HELP;
  const { json, verbose, profile } = values;
  const against = values.against === undefined ? undefined : resolve(values.against);
  if (against !== undefined) requireCheckout(against);
  const pairs = pairsOf(values.pairs ?? String(values.go ? GO_PAIRS_DEFAULT : PAIRS_DEFAULT));
  if (values.go && (against !== undefined || profile !== undefined)) {
    throw new Error('--go goes neither with --against nor with --profile; leave one out');
  }
  const timing = values.quick ? GO_QUICK : GO_TIMING;
  const go = values.go ? { rows: chosenRows(GO_ROWS, values.only), pairs, timing } : undefined;
  return {
    rows: go === undefined ? chosenRows(COST_ROWS, values.only) : [],
    timing: values.quick ? QUICK : TIMING,
    json,
    verbose,
    profile,
    nodeFlags: words(values['node-flags']),
    oursFlags: words(values['ours-flags']),
    against: against === undefined ? undefined : { folder: against, pairs },
    go,
  };
}

function words(text: string): readonly string[] {
  return text.split(' ').filter((flag) => flag !== '');
}

function pairsOf(text: string): number {
  const pairs = Number(text);
  if (Number.isInteger(pairs) && pairs >= 1) return pairs;
  throw new Error(`--pairs: ${JSON.stringify(text)} is no whole number from 1 on`);
}

function chosenRows<Row extends CostRow>(
  rows: readonly Row[],
  only: string | undefined,
): readonly Row[] {
  if (only === undefined) return rows;
  const names = only.split(',');
  for (const name of names) {
    if (rows.some(({ id, group }) => id === name || group === name)) continue;
    const known = [...new Set(rows.map(({ group }) => group)), ...rows.map(({ id }) => id)];
    throw new Error(
      `--only: there is no row or group ${JSON.stringify(name)}, but ${known.join(' ')}`,
    );
  }
  return rows.filter(({ id, group }) => names.includes(id) || names.includes(group));
}
