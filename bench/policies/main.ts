import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../src/files/folders.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { aloneTtftMs } from './alone.ts';
import { missedBounds, overall } from './gates.ts';
import { judge } from './judge.ts';
import { HELP, readOptions } from './options.ts';
import { policyReport, type Report, reportTable } from './report.ts';
import { chosenScenarios, TRACE_SCENARIOS } from './scenarios.ts';
import { SimulationWorkers } from './simulation-workers.ts';
import type { Standing } from './standings.ts';
import { tune } from './tune.ts';
import { readTuned, type TunedRow, writeTuned } from './tuned.ts';

/**
 * Compares the default policy with other policies, tuned for each scenario and untuned: `npm run
 * bench -- policies`. Ends with 1 where a bound is missed, or a scenario is left out.
 */
const options = readOptions();
/** Scenarios at a time, so that no worker waits for the last run of one of them. */
const AT_ONCE = 2;
const endsAt = performance.now() + 60_000 * options.minutes;
let simulated = 0;

if (options.help) process.stdout.write(HELP);
else if (options.alone) printAlone();
else {
  const workers = new SimulationWorkers({ ...options, onDone: progress });
  try {
    if (options.tune) await tuneAll(workers);
    else await run(workers);
  } finally {
    await workers.close();
  }
}

function printAlone(): void {
  for (const { name, build, disaggregated, isOtherEngine } of chosenScenarios(options)) {
    if (disaggregated !== undefined || isOtherEngine === true) continue;
    const ms = aloneTtftMs(build(1, options.size));
    process.stdout.write(`${name.padEnd(16)}${ms.toFixed(1).padStart(8)} ms\n`);
  }
}

/** Written after each scenario, so that a run that is ended early leaves what it has found. */
async function tuneAll(workers: SimulationWorkers): Promise<void> {
  const date = new Date().toISOString().slice(0, 10);
  const simulateAll = workers.simulateAll.bind(workers);
  await each(chosenScenarios(options), async (scenario) => {
    const row = await tune(scenario, { simulateAll, date });
    writeTuned([row]);
    process.stderr.write(`\n${row.scenario}: ${JSON.stringify(row.finalists)}\n`);
  });
}

async function run(workers: SimulationWorkers): Promise<void> {
  const scenarios = chosenScenarios(options);
  const tuned = readTuned();
  const judged = new Map<Scenario, Standing>();
  const standings = (): readonly Standing[] =>
    scenarios.flatMap((scenario) => judged.get(scenario) ?? []);
  await each(scenarios, async (scenario) => {
    const row = tuned.get(scenario.name) ?? (await tunedNow(scenario, workers));
    judged.set(scenario, await judge(scenario, row, judgeOptions(scenario, workers)));
    process.stderr.write(`\n${scenario.name} `);
    write(reportOf(standings()));
  });
  const report = reportOf(standings());
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : reportTable(report));
  const missed = [...missedBounds(standings()), ...leftOut(scenarios, judged)];
  for (const sentence of missed) process.stderr.write(`MISSED ${sentence}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

/** Begins no scenario once the time is over. */
async function each(
  scenarios: readonly Scenario[],
  work: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const left = [...scenarios];
  const next = async (): Promise<void> => {
    for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
      if (performance.now() < endsAt) await work(scenario);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

function tunedNow(scenario: Scenario, workers: SimulationWorkers): Promise<TunedRow> {
  const date = new Date().toISOString().slice(0, 10);
  return tune(scenario, { simulateAll: workers.simulateAll.bind(workers), date });
}

function judgeOptions(
  { isDrawn = false, isOtherEngine = false }: Scenario,
  workers: SimulationWorkers,
): Parameters<typeof judge>[2] {
  const { seeds, drawnSeeds, size, waiting } = options;
  const simulateAll = workers.simulateAll.bind(workers);
  return { seeds: isDrawn || isOtherEngine ? drawnSeeds : seeds, size, waiting, simulateAll };
}

function leftOut(
  scenarios: readonly Scenario[],
  judged: ReadonlyMap<Scenario, Standing>,
): readonly string[] {
  const late = scenarios.filter((scenario) => !judged.has(scenario));
  const whole = options.only === undefined && options.drawn === undefined;
  const names = new Set(scenarios.map(({ name }) => name));
  const absent = whole ? TRACE_SCENARIOS.filter((name) => !names.has(name)) : [];
  return [
    ...late.map(({ name }) => `${name}: no time was left for it`),
    ...absent.map((name) => `${name}: it needs a folder with the traces (--traces)`),
  ];
}

function progress(): void {
  simulated += 1;
  if (simulated % 20 === 0) process.stderr.write('.');
}

function reportOf(standings: readonly Standing[]): Report {
  return { standings, overall: overall(standings), seeds: options.seeds };
}

function write(report: Report): void {
  const { out } = options;
  if (out === undefined) return;
  makeFolder(out);
  writeFileSync(join(out, 'policies.json'), JSON.stringify(report, undefined, 2));
  writeFileSync(join(out, 'policies.html'), policyReport(report));
}
