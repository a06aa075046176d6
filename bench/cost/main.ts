import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import type { Tools } from '../load/bed.ts';
import { buildYardstick } from '../yardstick/build.ts';
import {
  type AgainstResult,
  againstLine,
  measureAgainst,
  PAIRS_DEFAULT,
  requireCheckout,
} from './against.ts';
import { measureRow, type RowResult, type Timing } from './measure-row.ts';
import { COST_ROWS, type CostRow } from './rows.ts';
import { costTable, multipleOf, verdictOf } from './table.ts';

const ROW_IDS = COST_ROWS.map(({ id }) => id).join(' ');

const HELP = `npm run bench -- cost [options]

Measures the CPU of the picker per request through a real Envoy, and compares it with the
reference picker's figures and with a bare Go echo (the yardstick).

  --json             print one JSON document on stdout, progress on stderr
  --only <id,…>      measure some rows only, of: ${ROW_IDS}
  --quick            measure short rounds: half the time, wider ranges
  --profile <folder> write V8 CPU profiles of the picker there, without the yardstick
  --node-flags=<…>   start the picker's Node with these flags, such as "--trace-gc"
  --against <folder> compare with the picker of another checkout in place of the yardstick;
                     a ratio is ours divided by the other's
  --pairs <n>        pairs of processes for --against (${PAIRS_DEFAULT})
  --ours-flags=<…>   flags of serve for our side only, such as "--tracing" with --against .
  --verbose          print the output of the processes
`;

const TIMING: Timing = { warmUpMs: 4000, windowMs: 2500, rounds: 4 };
const QUICK: Timing = { warmUpMs: 2500, windowMs: 1500, rounds: 3 };

const say = (line: string): void => void process.stderr.write(`${line}\n`);

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

/** Returns the process's exit code. */
async function main(): Promise<number> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (process.platform !== 'linux') {
    say(`the cost bench reads CPU times from /proc and so needs Linux, not ${process.platform}`);
    return 2;
  }
  const rows = chosenRows(values.only);
  const envoy = await fetchEnvoy({ log: say });
  if ('unavailable' in envoy) {
    say(`the cost bench needs a real Envoy: ${envoy.unavailable}`);
    return 2;
  }
  const { json, profile } = values;
  const timing = values.quick ? QUICK : TIMING;
  const words = (text: string): string[] => text.split(' ').filter((flag) => flag !== '');
  const nodeFlags = words(values['node-flags']);
  const oursFlags = words(values['ours-flags']);
  const log = values.verbose ? say : () => undefined;
  const common = { envoyPath: envoy.path, envoyVersion: envoy.version, nodeFlags, oursFlags, log };
  if (values.against !== undefined) {
    const other = { kind: 'picker', folder: resolve(values.against) } as const;
    requireCheckout(other.folder);
    await printAgainst(rows, timing, { ...common, other, pairs: Number(values.pairs) }, json);
    return 0;
  }
  return printCosts(rows, timing, common, { json, profile });
}

async function printCosts(
  rows: readonly CostRow[],
  timing: Timing,
  common: Omit<Tools, 'other'> & { readonly envoyVersion: string },
  { json, profile }: { readonly json: boolean; readonly profile: string | undefined },
): Promise<number> {
  // A profiler would count the time in which a process is paused for the yardstick as work.
  const yardstick =
    profile === undefined ? await buildYardstick(say) : { unavailable: 'profiling' };
  const missing = 'unavailable' in yardstick ? yardstick.unavailable : undefined;
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const results = await measureRows(rows, timing, {
    ...common,
    nodeFlags: [...common.nodeFlags, ...profiling],
    other: 'path' in yardstick ? { kind: 'yardstick', path: yardstick.path } : undefined,
  });
  const machine = {
    cores: cpus().length,
    cpu: cpus()[0]?.model,
    node: process.version,
    envoy: common.envoyVersion,
    go: 'goVersion' in yardstick ? yardstick.goVersion : undefined,
  };
  process.stdout.write(
    json
      ? `${JSON.stringify({ bench: 'cost', machine, yardstickMissing: missing, rows: results.map(asJson) }, undefined, 2)}\n`
      : `\n${costTable(results, missing)}\n`,
  );
  return results.every((result) => verdictOf(result) === 'yes') ? 0 : 1;
}

async function printAgainst(
  rows: readonly CostRow[],
  timing: Timing,
  tools: Tools & { readonly pairs: number },
  json: boolean,
): Promise<void> {
  const results: AgainstResult[] = [];
  for (const [index, row] of rows.entries()) {
    const result = await measureAgainst(row, timing, tools);
    results.push(result);
    say(`[${index + 1}/${rows.length}] ${againstLine(result)}`);
  }
  const { pairs } = tools;
  process.stdout.write(
    json
      ? `${JSON.stringify({ bench: 'cost', against: true, pairs, rows: results }, undefined, 2)}\n`
      : `\nours divided by the other's: median and range of ${pairs} pairs of processes\n${results.map(againstLine).join('\n')}\n`,
  );
}

function chosenRows(only: string | undefined): readonly CostRow[] {
  if (only === undefined) return COST_ROWS;
  return only.split(',').map((id) => {
    const row = COST_ROWS.find((each) => each.id === id);
    if (row === undefined) {
      throw new Error(`--only: there is no row ${JSON.stringify(id)}, but ${ROW_IDS}`);
    }
    return row;
  });
}

async function measureRows(
  rows: readonly CostRow[],
  timing: Timing,
  tools: Tools,
): Promise<readonly RowResult[]> {
  const results: RowResult[] = [];
  for (const [index, row] of rows.entries()) {
    const result = await measureRow(row, timing, tools);
    results.push(result);
    const yardstick = result.other?.cost.median.toFixed(3) ?? '–';
    say(
      `[${index + 1}/${rows.length}] ${row.title} (${row.config}): ours ${result.ours.cost.median.toFixed(3)}, ` +
        `reference ${row.reference}, yardstick ${yardstick}`,
    );
  }
  return results;
}

function asJson(result: RowResult): unknown {
  const { row, ours, other: yardstick } = result;
  return {
    ...row,
    unit: row.load.kind === 'idle' ? 'cores' : 'ms per request',
    ours,
    yardstick,
    oursOverYardstick: multipleOf(result),
    better: verdictOf(result),
  };
}

// On `exit` the remaining children are killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.exitCode = await main();
