import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { Command } from 'commander';
import { configText, planFromPlugins } from '../catalogue/plan.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { refuseOverwriting } from '../files/writing/refuse-overwriting.ts';
import { writeWhole } from '../files/writing/write-whole.ts';
import { ConfigError } from '../framework/error.ts';
import { type ConfigReport, compare } from '../lab/run-summary/compare.ts';
import { comparisonLegend, renderComparison } from '../lab/run-summary/render-comparison.ts';
import { verdictOf } from '../lab/run-summary/verdict.ts';
import { readPool } from '../lab/simulate/pool-file.ts';
import type { PoolSpec } from '../lab/simulate/pool-spec.ts';
import { renderPlan } from '../lab/simulate/render-plan.ts';
import type { JobResult, SimulationJob } from '../lab/simulate/run-job.ts';
import { type JobsProgress, runJobs } from '../lab/simulate/run-jobs.ts';
import { costPerHour, type ServerPlan, serverPlan } from '../lab/simulate/server-plan.ts';
import { reshape } from '../lab/simulate/what-if.ts';
import { remote } from '../remote/remote.ts';
import { needPackages } from '../runtime/need-packages.ts';
import {
  above0,
  atLeastOne,
  collect,
  from1To,
  notNegative,
  pluginOption,
} from './options/option-values.ts';
import { addPlanningOptions, type PlanningFlags, planningOf } from './options/planning-options.ts';
import { addTraceOptions, loadOptionsOf, type TraceFlags } from './options/trace-options.ts';
import { printable } from './output/printable.ts';
import { startProgress } from './output/progress.ts';
import { simulationFacts } from './output/report-facts.ts';
import { schedulerNotes } from './output/scheduler-notes.ts';
import { writeReading } from './output/write-reading.ts';

interface SimulateFlags extends PlanningFlags, TraceFlags {
  readonly closedLoop: boolean;
  readonly trace: string;
  readonly pool: string;
  readonly config: readonly string[];
  readonly plugin: readonly string[];
  readonly seeds: number;
  readonly speed: number;
  readonly spread: number;
  readonly scrapeInterval: number;
  readonly replicas: number;
  readonly shareDelayMs?: number;
  readonly parallel?: number;
  readonly report?: string;
  readonly json: boolean;
}

/** The figures of all configurations, and of all shapes of the pool if a plan was asked for. */
interface SimulationOutcome {
  readonly reports: readonly ConfigReport[];
  readonly results: readonly Omit<JobResult, 'trace'>[];
  readonly plan: ServerPlan | undefined;
  /** Unit of the plan's costs. */
  readonly costUnit: string;
  readonly servers: PoolSpec['servers'];
}

export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description('compare configurations on a trace, with simulated servers in virtual time')
    .requiredOption('--trace <file>', 'a trace, plain, .zst or .gz, or the folder of a capture')
    .requiredOption('--pool <file>', 'the model servers, in YAML; see docs/simulate.md')
    .option('--config <name|file>', 'a configuration to simulate; may be repeated', collect, [])
    .addOption(pluginOption())
    .option('--seeds <n>', 'draws of each configuration, for intervals', from1To(10_000), 1)
    .option('--speed <times>', 'how many times faster than in the trace requests arrive', above0, 1)
    .option('--closed-loop', 'turns of a conversation wait for the answer before them', false)
    .option('--spread <ms>', 'with several seeds, move arrivals by up to this', notNegative, 10_000)
    .option('--scrape-interval <ms>', 'time between two scrapes of a server', above0, 50)
    .option(
      '--replicas <n>',
      'pickers in front of the pool, among which requests are divided',
      from1To(1000),
      1,
    )
    .option(
      '--share-delay-ms <ms>',
      'replicas share what they do, and it takes this long to the others; without it they share ' +
        'nothing',
      notNegative,
    )
    .option('--parallel <n>', 'simulations at once; one per processor if not given', atLeastOne)
    .option('--report <file>', 'write a self-contained HTML page with charts to this file')
    .option('--json', 'print one JSON document', false);
  return addPlanningOptions(addTraceOptions(command)).action(run);
}

/** Throws for flags that do not fit each other or what they name, before anything is read or runs. */
function checkFlags(flags: SimulateFlags): void {
  mustExist('--trace', flags.trace);
  mustBeFile('--pool', flags.pool);
  const inputs = [flags.trace, ...flags.merge, flags.pool, ...flags.config, ...flags.plugin];
  if (flags.report !== undefined) {
    needPackages('--report', ['echarts']);
    refuseOverwriting(flags.report, inputs, 'report.html');
  }
  mustHaveSomebodyToShareWith(flags);
  mustDiffer(flags.config);
}

async function run(flags: SimulateFlags): Promise<void> {
  checkFlags(flags);
  const planning = planningOf(flags);
  const loadOptions = loadOptionsOf(flags);
  const pool = readPool(readFileSync(flags.pool, 'utf8'), flags.pool);
  // Throws for shapes and prices that do not fit the pool, before anything runs.
  for (const shape of planning.shapes) costPerHour(reshape(pool, shape), planning.prices);
  const asking = await askingOf(flags);
  const { trace, plugin: plugins, parallel, json, closedLoop } = flags;
  const jobs = jobsOf(flags, planning, asking);
  const source = { ...loadOptions, trace, pool: flags.pool, plugins, closedLoop };
  const jobResults = await runWithProgress({ source, jobs, parallel });
  // All workers have read the same trace, so this is reported once.
  const reading = jobResults[0]?.trace;
  if (reading !== undefined) writeReading(reading);
  const results = jobResults.map(({ trace: _trace, ...rest }) => rest);
  const reports = compare(asItIs(results));
  const plan = planning.findSaturation
    ? serverPlan(results, { pool, prices: planning.prices, objective: planning.objective })
    : undefined;
  const costUnit = planning.priced ? 'the unit of --price' : 'accelerator-hours (see --price)';
  await writeReport(flags, { reports, results, plan, costUnit, servers: pool.servers });
  if (json) {
    const document = { trace: reading, reports, plan, results };
    process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
    return;
  }
  const legend = comparisonLegend(planning.objective);
  process.stdout.write(printable(outcomeText({ reports, results, plan, costUnit }, legend)));
}

async function runWithProgress(
  run: Omit<Parameters<typeof runJobs>[0], 'onProgress'>,
): Promise<readonly JobResult[]> {
  // The bar also grows within a simulation, so its value is no number of simulations.
  const format = '{percentage} %, {finished}/{total} simulations, {duration_formatted}';
  const payload = { finished: 0 };
  const progress = startProgress({ total: run.jobs.length, format, payload });
  const onProgress = ({ done, finished }: JobsProgress): void =>
    progress.update(done, { finished });
  const results = await runJobs({ ...run, onProgress });
  progress.stop();
  return results;
}

function outcomeText(
  { reports, results, plan, costUnit }: Omit<SimulationOutcome, 'servers'>,
  legend: string,
): string {
  // Some terminals say 0 for not known.
  const columns = process.stdout.columns || undefined;
  const notes = schedulerNotes(asItIs(results)).map((each) => `${each}\n`);
  const planText = plan === undefined ? '' : `\n${renderPlan(plan, costUnit, columns)}`;
  return [renderComparison(reports, columns), legend, ...notes, planText].join('');
}

async function writeReport(flags: SimulateFlags, outcome: SimulationOutcome): Promise<void> {
  const { report, trace, pool, speed } = flags;
  const { reports, results, plan, costUnit, servers } = outcome;
  if (report === undefined) return;
  // Imported on demand, because the chart library is large.
  const { reportPage } = await import('../lab/report/report-page.ts');
  const faster = speed === 1 ? '' : `, ${speed} times as fast`;
  const runs = asItIs(results);
  const page = reportPage({
    title: `${basename(trace)} on ${basename(pool)}${faster}`,
    verdict: verdictOf(runs),
    facts: simulationFacts(flags, runs, servers),
    notes: schedulerNotes(runs),
    reports,
    drawn: results.flatMap(({ job, curves }) =>
      curves === undefined ? [] : [{ name: job.name, curves }],
    ),
    ladder: results.find((result) => result.ladder !== undefined)?.ladder,
    capacity: plan && {
      plan,
      costUnit,
      curves: reports.map(({ name }) => {
        const first = results.find(({ job }) => job.name === name && job.shape === undefined);
        return { name, probes: first?.saturation?.probes ?? [] };
      }),
    },
  });
  writeWhole(report, [page]);
  process.stderr.write(`wrote ${report}\n`);
}

/** The results of the pool as it is. */
function asItIs<T extends Pick<JobResult, 'job'>>(results: readonly T[]): readonly T[] {
  return results.filter(({ job }) => job.shape === undefined);
}

function mustHaveSomebodyToShareWith({ shareDelayMs, replicas }: SimulateFlags): void {
  if (shareDelayMs === undefined || replicas > 1) return;
  const message = `${shareDelayMs} has no effect with one picker: give --replicas of 2 or more, too`;
  throw new ConfigError('simulate', [{ path: '--share-delay-ms', message }]);
}

/** Equal runs would count as further draws of one configuration. */
function mustDiffer(configs: readonly string[]): void {
  const twice = configs.find((each, at) => configs.indexOf(each) < at);
  if (twice === undefined) return;
  const message = `${twice} is given twice: give it once, and --seeds for more draws`;
  throw new ConfigError('simulate', [{ path: '--config', message }]);
}

function mustExist(option: string, path: string): void {
  if (!existsSync(path)) {
    throw new ConfigError('simulate', [{ path: option, message: `${path} does not exist` }]);
  }
}

function mustBeFile(option: string, path: string): void {
  mustExist(option, path);
  if (!statSync(path).isDirectory()) return;
  throw new ConfigError('simulate', [
    { path: option, message: `${path} is a folder: name a file` },
  ]);
}

/**
 * The configurations whose scheduler is in another process. Throws with the name of one that
 * cannot be run, which workers do not know.
 */
async function askingOf({ config, plugin }: SimulateFlags): Promise<ReadonlySet<string>> {
  const asking = new Set<string>();
  for (const each of config) {
    const { scheduler } = await planFromPlugins(each, plugin);
    if (scheduler?.definition === remote) asking.add(each);
  }
  return asking;
}

function jobsOf(
  { config, seeds, speed, spread, scrapeInterval, replicas, shareDelayMs, report }: SimulateFlags,
  { shapes, objective, findSaturation }: ReturnType<typeof planningOf>,
  asking: ReadonlySet<string>,
): SimulationJob[] {
  const names = shapes.length > 1 ? ['default'] : ['round-robin', 'reference-default', 'default'];
  return (config.length === 0 ? names : config).flatMap((name) => {
    const text = configOf(name);
    return shapes.flatMap((shape) =>
      Array.from({ length: seeds }, (_, index) => ({
        name,
        config: text,
        seed: index + 1,
        speed,
        spreadMs: seeds === 1 ? 0 : spread,
        scrapeIntervalMs: scrapeInterval,
        replicas,
        ...(shareDelayMs !== undefined && { shareDelayMs }),
        ...(shape !== undefined && { shape }),
        ...(asking.has(name) && { asks: true }),
        objective,
        findSaturation,
        curves: report !== undefined && index === 0 && shape === undefined,
      })),
    );
  });
}

/** A named configuration's name, or the text of a file. */
function configOf(name: string): string {
  return NAMED_CONFIGS.has(name) ? name : configText(name);
}
