import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import type { Tools } from '../load/bed.ts';
import { buildYardstick } from '../yardstick/build.ts';
import { measureRow, type RowResult, type Timing } from './measure-row.ts';
import { COST_ROWS, type CostRow } from './rows.ts';
import { costTable, multipleOf, verdictOf } from './table.ts';

const HELP = `npm run bench -- cost [options]

CPU of the picker per request, through a real Envoy, beside the reference picker's figures and a bare Go echo.

  --json             one JSON document on stdout, progress on stderr
  --only <id,…>      some rows: ${COST_ROWS.map(({ id }) => id).join(' ')}
  --quick            short rounds: half the time, less sure
  --profile <folder> write V8 CPU profiles of the picker there, without the yardstick
  --node-flags=<…>   start the picker's Node with these, such as "--trace-gc"
  --verbose          what the processes say
`;

const TIMING: Timing = { warmUpMs: 4000, windowMs: 2500, rounds: 4 };
const QUICK: Timing = { warmUpMs: 2500, windowMs: 1500, rounds: 3 };

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Returns the process's exit code. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      'node-flags': { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
    },
  });
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
  // A profiler would take the time a process stood still for the yardstick's turn for work.
  const yardstick =
    values.profile === undefined ? await buildYardstick(say) : { unavailable: 'profiling' };
  const missing = 'unavailable' in yardstick ? yardstick.unavailable : undefined;
  const profiling =
    values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];
  const tools: Tools = {
    envoyPath: envoy.path,
    yardstickPath: 'path' in yardstick ? yardstick.path : undefined,
    nodeFlags: [...values['node-flags'].split(' '), ...profiling].filter((flag) => flag !== ''),
    log: values.verbose ? say : () => undefined,
  };
  const results = await measureRows(rows, values.quick ? QUICK : TIMING, tools);
  const machine = {
    cores: cpus().length,
    cpu: cpus()[0]?.model,
    node: process.version,
    envoy: envoy.version,
    go: 'goVersion' in yardstick ? yardstick.goVersion : undefined,
  };
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ bench: 'cost', machine, yardstickMissing: missing, rows: results.map(asJson) }, undefined, 2)}\n`
      : `\n${costTable(results, missing)}\n`,
  );
  return results.every((result) => verdictOf(result) === 'yes') ? 0 : 1;
}

function chosenRows(only: string | undefined): readonly CostRow[] {
  if (only === undefined) return COST_ROWS;
  return only.split(',').map((id) => {
    const row = COST_ROWS.find((each) => each.id === id);
    if (row === undefined) {
      throw new Error(`no row ${id}; there are ${COST_ROWS.map((each) => each.id).join(', ')}`);
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
    const yardstick = result.yardstick?.cost.median.toFixed(3) ?? '–';
    say(
      `[${index + 1}/${rows.length}] ${row.title} (${row.config}): ours ${result.ours.cost.median.toFixed(3)}, ` +
        `reference ${row.reference}, yardstick ${yardstick}`,
    );
  }
  return results;
}

function asJson(result: RowResult): unknown {
  const { row, ours, yardstick } = result;
  return {
    ...row,
    unit: row.load.kind === 'idle' ? 'cores' : 'ms per request',
    ours,
    yardstick,
    oursOverYardstick: multipleOf(result),
    better: verdictOf(result),
  };
}

// `exit` takes along whatever child is still there.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.exitCode = await main();
