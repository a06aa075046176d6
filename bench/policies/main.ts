import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { aloneTtftMs } from './alone.ts';
import { missedBounds, overall } from './gates.ts';
import { judge } from './judge.ts';
import { COLUMNS, overallSentence, policyReport, type Report } from './report.ts';
import { runAll } from './run-all.ts';
import { randomScenario, scenariosFrom } from './scenarios.ts';
import type { Standing } from './standings.ts';
import type { PolicyJob } from './worker.ts';

/**
 * Compares the default policy with every baseline, tuned for each scenario and untuned: `npm run
 * bench -- policies`. Baselines are tuned on other seeds than those of the comparison. Ends with 1
 * where a bound is missed, or a scenario is left out for lack of time.
 */
const { values } = parseArgs({
  options: {
    traces: { type: 'string' },
    seeds: { type: 'string', default: '4' },
    'tuning-seeds': { type: 'string', default: '1' },
    size: { type: 'string', default: 'full' },
    only: { type: 'string' },
    drawn: { type: 'string' },
    other: { type: 'string' },
    alone: { type: 'boolean', default: false },
    out: { type: 'string' },
    minutes: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench -- policies [options]

  --traces DIR        folder with mooncake-conversation.jsonl and azure-2023-conversation.csv;
                      without it only synthetic scenarios run
  --seeds N           draws of each scenario for the comparison (4)
  --tuning-seeds N    draws of each scenario for tuning the baselines (1)
  --size small|full   size of each scenario (full)
  --only A,B          run only these scenarios
  --drawn N           run N random scenarios instead (drawn-1 …): pool, prompts and load are drawn
  --other N           run N random scenarios on engines by other rules than the stub's instead
  --alone             say only how much room there is: each request alone on the fastest server,
                      and the memory of all servers one cache
  --minutes N         begin no scenario after so long (15); those left out are named
  --out DIR           write policies.json and policies.html there
  --json              print one JSON document
`;

if (values.help) process.stdout.write(HELP);
else if (values.alone) printAlone();
else await run();

function printAlone(): void {
  const { size } = values;
  for (const { name, build, disaggregated, isOtherEngine } of chosen()) {
    if (disaggregated !== undefined || isOtherEngine === true) continue;
    const ms = aloneTtftMs(build(1, size === 'small' ? 'small' : 'full'));
    process.stdout.write(`${name.padEnd(16)}${ms.toFixed(1).padStart(8)} ms\n`);
  }
}

async function run(): Promise<void> {
  const scenarios = chosen();
  const options = {
    seeds: Number(values.seeds),
    tuningSeeds: Number(values['tuning-seeds']),
    size: values.size === 'small' ? 'small' : 'full',
    simulateAll,
  } as const;
  const standings: Standing[] = [];
  const endsAt = performance.now() + 60_000 * Number(values.minutes);
  const left: string[] = [];
  for (const scenario of scenarios) {
    if (performance.now() > endsAt) {
      left.push(scenario.name);
      continue;
    }
    process.stderr.write(`${scenario.name} `);
    standings.push(await judge(scenario, options));
    process.stderr.write('\n');
    write(reportOf(standings));
  }
  const report = reportOf(standings);
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : table(report));
  const missed = [
    ...missedBounds(standings),
    ...left.map((name) => `${name}: no time was left for it`),
  ];
  for (const each of missed) process.stderr.write(`MISSED ${each}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

function reportOf(standings: readonly Standing[]): Report {
  return { standings, overall: overall(standings), seeds: Number(values.seeds) };
}

/** After each scenario, so that a run that is ended early leaves what it has found. */
function write(report: Report): void {
  if (values.out === undefined) return;
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, 'policies.json'), JSON.stringify(report, undefined, 2));
  writeFileSync(join(values.out, 'policies.html'), policyReport(report));
}

function chosen(): readonly Scenario[] {
  const { drawn, other, only } = values;
  if (drawn !== undefined || other !== undefined) {
    return [...numbered('drawn', drawn), ...numbered('other', other)].flatMap(
      (name) => randomScenario(name) ?? [],
    );
  }
  const names = only?.split(',');
  return scenariosFrom(values.traces).filter(({ name }) => names?.includes(name) ?? true);
}

function numbered(prefix: string, count = '0'): readonly string[] {
  return Array.from({ length: Number(count) }, (_, index) => `${prefix}-${index + 1}`);
}

function simulateAll(jobs: readonly PolicyJob[]): Promise<readonly SimulationSummary[]> {
  let done = 0;
  return runAll(jobs, {
    traces: values.traces,
    onDone: () => {
      done += 1;
      if (done % 50 === 0) process.stderr.write('.');
    },
  });
}

function table({ standings, overall: all }: Report): string {
  const rows = standings.map((standing) => COLUMNS.map(({ cell }) => cell(standing)));
  const head = COLUMNS.map((column) => column.head);
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  const summary = all.map((each) => `\n${overallSentence(each)}`).join('');
  return `Mean time to first token, except where noted.\n\n${lines.join('\n')}\n${summary}\n`;
}
