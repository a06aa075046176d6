import { cpus } from 'node:os';
import { packageFile } from '../../src/files/folders.ts';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import type { Tools } from '../load/bed.ts';
import { buildYardstick } from '../yardstick/build.ts';
import { type AgainstResult, againstLines, measureAgainst, type PairTools } from './against.ts';
import { type GoOptions, goHolds, goText, measureBesideGo } from './beside-go/beside-go.ts';
import { builtMain } from './build.ts';
import { measureRow, type RowResult } from './measure-row.ts';
import { type CostOptions, costOptions } from './options.ts';
import { unitOf } from './row.ts';
import { costTable, multipleOf } from './table.ts';
import { askedOf, verdictOf } from './verdict.ts';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Returns the process's exit code. */
async function main(): Promise<number> {
  const options = costOptions();
  if (typeof options === 'string') {
    process.stdout.write(options);
    return 0;
  }
  if (process.platform !== 'linux') {
    say(`the cost bench reads CPU times from /proc and so needs Linux, not ${process.platform}`);
    return 2;
  }
  const envoy = await fetchEnvoy({ log: say });
  if ('unavailable' in envoy) {
    say(`the cost bench needs a real Envoy: ${envoy.unavailable}`);
    return 2;
  }
  const { nodeFlags, oursFlags } = options;
  const log = options.verbose ? say : () => undefined;
  const built = await builtMain(packageFile('.'));
  const common = { envoyPath: envoy.path, main: built, nodeFlags, oursFlags, log };
  if (options.against !== undefined) {
    const { folder, pairs } = options.against;
    const other = { kind: 'picker', main: await builtMain(folder) } as const;
    await printAgainst(options, { ...common, other, pairs });
    return 0;
  }
  if (options.go !== undefined) {
    return printBesideGo(options.go, {
      ...common,
      json: options.json,
      envoyVersion: envoy.version,
    });
  }
  return printCosts(options, { ...common, envoyVersion: envoy.version });
}

async function printBesideGo(
  options: GoOptions,
  {
    json,
    envoyVersion,
    ...tools
  }: Omit<Tools, 'other'> & { readonly json: boolean; readonly envoyVersion: string },
): Promise<number> {
  const report = await measureBesideGo(options, tools, say);
  if ('unavailable' in report) {
    say(report.unavailable);
    return 2;
  }
  const { goVersion: go, ...rest } = report;
  const machine = { ...machineOf(envoyVersion), go };
  process.stdout.write(
    json
      ? `${JSON.stringify({ bench: 'cost', besideGo: true, machine, ...rest }, undefined, 2)}\n`
      : goText(report),
  );
  return goHolds(report) ? 0 : 1;
}

function machineOf(envoy: string): object {
  return { cores: cpus().length, cpu: cpus()[0]?.model, node: process.version, envoy };
}

async function printCosts(
  options: CostOptions,
  { envoyVersion, ...common }: Omit<Tools, 'other'> & { readonly envoyVersion: string },
): Promise<number> {
  const { json, profile } = options;
  // A profiler would count the time in which a process is paused for the yardstick as work.
  const yardstick =
    profile === undefined ? await buildYardstick(say) : { unavailable: 'profiling' };
  const missing = 'unavailable' in yardstick ? yardstick.unavailable : undefined;
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const results = await measureRows(options, {
    ...common,
    nodeFlags: [...common.nodeFlags, ...profiling],
    other: 'path' in yardstick ? { kind: 'yardstick', path: yardstick.path } : undefined,
  });
  const go = 'goVersion' in yardstick ? yardstick.goVersion : undefined;
  const machine = { ...machineOf(envoyVersion), go };
  const rows = results.map((result) => asJson(result, results));
  process.stdout.write(
    json
      ? `${JSON.stringify({ bench: 'cost', machine, yardstickMissing: missing, rows }, undefined, 2)}\n`
      : `\n${costTable(results, missing)}\n`,
  );
  return results.every((result) => verdictOf(result, results).holds) ? 0 : 1;
}

async function printAgainst({ rows, timing, json }: CostOptions, tools: PairTools): Promise<void> {
  const results: AgainstResult[] = [];
  for (const [index, row] of rows.entries()) {
    const result = await measureAgainst(row, timing, tools);
    results.push(result);
    say(`[${index + 1}/${rows.length}] ${againstLines(result)}`);
  }
  const { pairs } = tools;
  process.stdout.write(
    json
      ? `${JSON.stringify({ bench: 'cost', against: true, pairs, rows: results }, undefined, 2)}\n`
      : `\nours divided by the other's: median and range of ${pairs} pairs of processes\n${results.map(againstLines).join('\n')}\n`,
  );
}

async function measureRows(
  { rows, timing }: CostOptions,
  tools: Tools,
): Promise<readonly RowResult[]> {
  const results: RowResult[] = [];
  const from = performance.now();
  for (const [index, row] of rows.entries()) {
    const result = await measureRow(row, timing, tools);
    results.push(result);
    const { cost } = result.ours.figures;
    const echo = multipleOf(result, 'cost')?.toFixed(2);
    const seconds = ((performance.now() - from) / 1000).toFixed(0);
    say(
      `[${index + 1}/${rows.length}, ${seconds} s] ${row.id}: ${cost?.median.toFixed(3)} ${unitOf(row)}` +
        (echo === undefined ? '' : `, ${echo} × the Go echo`),
    );
  }
  return results;
}

function asJson(result: RowResult, all: readonly RowResult[]): unknown {
  const { row, ours, other: yardstick } = result;
  return {
    ...row,
    unit: unitOf(row),
    ours,
    yardstick,
    oursOverYardstick: {
      cost: multipleOf(result, 'cost'),
      p50Ms: multipleOf(result, 'p50Ms'),
      p99Ms: multipleOf(result, 'p99Ms'),
    },
    asked: askedOf(row),
    verdict: verdictOf(result, all),
  };
}

// On `exit` the remaining children are killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.exitCode = await main();
