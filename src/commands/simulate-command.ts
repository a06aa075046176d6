import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Presets, SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError } from 'commander';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { refuseOverwriting } from '../files/refuse-overwriting.ts';
import { ConfigError } from '../framework/error.ts';
import type { Capacity } from '../lab/report/report-page.ts';
import { type ConfigReport, compare } from '../lab/run-summary/compare.ts';
import { renderComparison } from '../lab/run-summary/render-comparison.ts';
import { sentencesOf, withoutReading } from '../lab/run-summary/trace-reading.ts';
import { type CapacityPlan, capacityPlan, costPerHour } from '../lab/simulate/capacity-plan.ts';
import { readPool } from '../lab/simulate/pool-file.ts';
import { renderPlan } from '../lab/simulate/render-plan.ts';
import type { JobResult, SimulationJob } from '../lab/simulate/run-job.ts';
import { runJobs } from '../lab/simulate/run-jobs.ts';
import { reshape } from '../lab/simulate/what-if.ts';
import { addShapeOptions, type ShapeFlags, shapeOf } from '../lab/traces/shape-options.ts';
import { fromOption } from './from-option.ts';
import {
  addPlanningOptions,
  type Planning,
  type PlanningFlags,
  planningOf,
} from './planning-options.ts';

interface SimulateFlags extends PlanningFlags, ShapeFlags {
  readonly closedLoop: boolean;
  readonly trace: string;
  readonly from?: string;
  readonly pool: string;
  readonly config: readonly string[];
  readonly plugin: readonly string[];
  readonly seeds: number;
  readonly speed: number;
  readonly spread: number;
  readonly scrapeInterval: number;
  readonly parallel?: number;
  readonly lenient: boolean;
  readonly report?: string;
  readonly json: boolean;
}

/** `pointsman simulate`. */
export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description(
      'run a trace through configurations side by side, on simulated servers in virtual time',
    )
    .requiredOption(
      '--trace <file>',
      'a trace in any format, plain, .zst or .gz, or a capture’s folder',
    )
    .addOption(fromOption())
    .requiredOption('--pool <file>', 'the model servers, in YAML; see docs/simulate.md')
    .option('--config <name|file>', 'a configuration to try; give it several times', collect, [])
    .option(
      '--plugin <file>',
      'a module with plugin types of your own; see docs/plugins.md',
      collect,
      [],
    )
    .option('--seeds <n>', 'draws of each, to tell a difference from luck', integer, 1)
    .option('--speed <times>', 'arrivals so many times as fast as in the trace', positive, 1)
    .option('--closed-loop', 'a turn of a conversation waits for the answer before it', false)
    .option('--spread <ms>', 'with several seeds, move each arrival by up to this', number, 10_000)
    .option('--scrape-interval <ms>', 'how often metrics are read', positive, 50)
    .option(
      '--parallel <n>',
      'simulations at once; as many as there are processors unless said',
      integer,
    )
    .option(
      '--lenient',
      'leave out bad lines of the trace and count them, sort what is out of order',
      false,
    )
    .option('--report <file>', 'write a page with pictures there, which needs nothing else')
    .option('--json', 'print one JSON document', false);
  return addPlanningOptions(addShapeOptions(command)).action(run);
}

async function run(flags: SimulateFlags): Promise<void> {
  mustBeThere('--trace', flags.trace);
  mustBeThere('--pool', flags.pool);
  const inputs = [flags.trace, ...flags.merge, flags.pool, ...flags.config, ...flags.plugin];
  if (flags.report !== undefined) refuseOverwriting(flags.report, inputs, 'report.html');
  const planning = planningOf(flags);
  const shape = shapeOf(flags);
  const pool = readPool(readFileSync(flags.pool, 'utf8'), flags.pool);
  // What cannot be done is said before anything runs.
  const shaped = planning.shapes.map((shape) =>
    shape === undefined ? pool : reshape(pool, shape),
  );
  for (const each of shaped) costPerHour(each, planning.prices);
  const jobs = jobsOf(flags, planning);
  const { trace, from, plugin: plugins, lenient, parallel, json, closedLoop } = flags;
  const progress = createProgress(jobs.length);
  const jobResults = await runJobs({
    source: { trace, from, pool: flags.pool, plugins, lenient, shape, closedLoop },
    jobs,
    parallel,
    onResult: () => progress.increment(),
  });
  progress.stop();
  const { results, trace: read } = withoutReading(jobResults);
  for (const sentence of sentencesOf(read)) process.stderr.write(`${sentence}\n`);
  const reports = compare(results.filter(({ job }) => job.shape === undefined));
  const plan = planning.findSaturation
    ? capacityPlan(results, { pool, prices: planning.prices, objective: planning.objective })
    : undefined;
  const costUnit = planning.priced ? 'the unit of --price' : 'accelerator-hours (see --price)';
  await writeReport(flags, { reports, results, plan, costUnit });
  if (json)
    process.stdout.write(
      `${JSON.stringify({ trace: read, reports, plan, results }, undefined, 2)}\n`,
    );
  else
    process.stdout.write(
      renderComparison(reports) + (plan === undefined ? '' : `\n${renderPlan(plan, costUnit)}`),
    );
}

/** Loaded when it is asked for: plots are a large library. */
async function writeReport(
  { report, trace, pool, speed }: SimulateFlags,
  {
    reports,
    results,
    plan,
    costUnit,
  }: {
    readonly reports: readonly ConfigReport[];
    readonly results: readonly JobResult[];
    readonly plan: CapacityPlan | undefined;
    readonly costUnit: string;
  },
): Promise<void> {
  if (report === undefined) return;
  const { reportPage } = await import('../lab/report/report-page.ts');
  const faster = speed === 1 ? '' : `, ${speed} times as fast`;
  const page = reportPage({
    title: `${basename(trace)} on ${basename(pool)}${faster}`,
    reports,
    drawn: results.flatMap(({ job, curves }) =>
      curves === undefined ? [] : [{ name: job.name, curves }],
    ),
    ladder: results.find((result) => result.ladder !== undefined)?.ladder,
    capacity: plan && { plan, curves: loadCurves(reports, results), costUnit },
  });
  writeFileSync(report, page);
  process.stderr.write(`wrote ${report}\n`);
}

function loadCurves(
  reports: readonly ConfigReport[],
  results: readonly JobResult[],
): Capacity['curves'] {
  return reports.map(({ name }) => {
    const first = results.find(({ job }) => job.name === name && job.shape === undefined);
    return { name, probes: first?.saturation?.probes ?? [] };
  });
}

function mustBeThere(option: string, path: string): void {
  if (existsSync(path)) return;
  throw new ConfigError('simulate', [{ path: option, message: `${path} is not there` }]);
}

function jobsOf(
  { config, seeds, speed, spread, scrapeInterval, report }: SimulateFlags,
  { shapes, objective, findSaturation }: Planning,
): SimulationJob[] {
  const unasked = shapes.length > 1 ? ['default'] : ['round-robin', 'reference-default', 'default'];
  const names = config.length === 0 ? unasked : config;
  return names.flatMap((name) => {
    const text = configOf(name);
    return shapes.flatMap((shape) =>
      Array.from({ length: seeds }, (_, index) => ({
        name,
        config: text,
        seed: index + 1,
        speed,
        spreadMs: seeds === 1 ? 0 : spread,
        scrapeIntervalMs: scrapeInterval,
        ...(shape !== undefined && { shape }),
        objective,
        findSaturation,
        curves: report !== undefined && index === 0 && shape === undefined,
      })),
    );
  });
}

function configOf(name: string): string {
  if (NAMED_CONFIGS.has(name)) return name;
  if (existsSync(name)) return readFileSync(name, 'utf8');
  const known = [...NAMED_CONFIGS.keys()].join(', ');
  const message = `${name} is neither a file nor one of ${known}`;
  throw new ConfigError('--config', [{ path: 'config', message }]);
}

function createProgress(total: number): Pick<SingleBar, 'increment' | 'stop'> {
  if (!process.stderr.isTTY) return { increment: () => undefined, stop: () => undefined };
  const format = '  [{bar}] {value}/{total} simulations, {duration_formatted}';
  const bar = new SingleBar(
    { format, stream: process.stderr, hideCursor: true },
    Presets.shades_classic,
  );
  bar.start(total, 0);
  return bar;
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError(`${text} is not a number of 0 or more`);
  }
  return value;
}

function positive(text: string): number {
  const value = number(text);
  if (value === 0) throw new InvalidArgumentError('must be above 0');
  return value;
}

function integer(text: string): number {
  const value = positive(text);
  if (!Number.isInteger(value)) throw new InvalidArgumentError(`${text} is not a whole number`);
  return value;
}
