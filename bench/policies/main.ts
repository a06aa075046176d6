import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { SimulationSummary } from '../../src/simulate/summarize.ts';
import { policyReport } from './report.ts';
import { RIVALS, type Rival } from './rivals.ts';
import { runAll } from './run-all.ts';
import { scenariosFrom } from './scenarios.ts';
import { type Entry, mean, overall, type Standing, standing } from './standings.ts';
import type { PolicyJob } from './worker.ts';

/**
 * The default policy against every rival, tuned for each scenario and not: `npm run bench -- policies`. Rivals are tuned
 * on seeds that are not the ones compared on.
 */
const { values } = parseArgs({
  options: {
    traces: { type: 'string' },
    seeds: { type: 'string', default: '10' },
    'tuning-seeds': { type: 'string', default: '2' },
    size: { type: 'string', default: 'full' },
    only: { type: 'string' },
    out: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench -- policies [options]

  --traces DIR        folder with mooncake-conversation.jsonl and azure-2023-conversation.csv; synthetic scenarios only without
  --seeds N           draws of each scenario compared on (10)
  --tuning-seeds N    draws that rivals are tuned on (2)
  --size small|full   of each scenario (full)
  --only A,B          scenarios
  --out DIR           write policies.json and policies.html there
  --json              print one JSON document
`;

/** Tuning draws are numbered from here, far from those compared on. */
const TUNING_SEED = 1000;

if (values.help) process.stdout.write(HELP);
else await run();

async function run(): Promise<void> {
  const only = values.only?.split(',');
  const names = scenariosFrom(values.traces)
    .map(({ name }) => name)
    .filter((name) => only === undefined || only.includes(name));
  const standings: Standing[] = [];
  for (const scenario of names) {
    process.stderr.write(`${scenario} `);
    standings.push(await judge(scenario));
    process.stderr.write('\n');
  }
  const report = { standings, overall: overall(standings) };
  if (values.out !== undefined) {
    mkdirSync(values.out, { recursive: true });
    writeFileSync(join(values.out, 'policies.json'), JSON.stringify(report, undefined, 2));
    const page = policyReport({ ...report, seeds: Number(values.seeds) });
    writeFileSync(join(values.out, 'policies.html'), page);
  }
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : table(report));
}

async function judge(scenario: string): Promise<Standing> {
  const tuned = await tune(scenario);
  const candidates = [
    { policy: 'default', variant: '', config: 'default' },
    ...RIVALS.map(({ name, variants }) => ({
      policy: name,
      variant: '',
      config: variants.get('') ?? name,
    })),
    ...tuned,
  ];
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
  const summaries = await simulateAll(
    candidates.flatMap(({ config }) => seeds.map((seed) => jobOf(scenario, config, seed))),
  );
  const entries = candidates.map(
    ({ policy, variant }, index): Entry => ({
      policy,
      variant,
      summaries: summaries.slice(index * seeds.length, (index + 1) * seeds.length),
    }),
  );
  return standing(scenario, entries);
}

/** The best variant of each rival that has any, on tuning seeds. */
async function tune(
  scenario: string,
): Promise<readonly { policy: string; variant: string; config: string }[]> {
  const count = Number(values['tuning-seeds']);
  const seeds = Array.from({ length: count }, (_, index) => TUNING_SEED + index);
  const trials = RIVALS.filter(({ variants }) => variants.size > 1).flatMap(
    ({ name, variants }: Rival) =>
      [...variants].map(([variant, config]) => ({ policy: name, variant, config })),
  );
  const summaries = await simulateAll(
    trials.flatMap(({ config }) => seeds.map((seed) => jobOf(scenario, config, seed))),
  );
  const entries = trials.map((trial, index) => ({
    ...trial,
    summaries: summaries.slice(index * count, (index + 1) * count),
  }));
  return [...Map.groupBy(entries, ({ policy }) => policy).values()]
    .map((group) => group.reduce((a, b) => (mean(b, 'ttftMeanMs') < mean(a, 'ttftMeanMs') ? b : a)))
    .filter(({ variant }) => variant !== '');
}

function jobOf(scenario: string, config: string, seed: number): PolicyJob {
  return { scenario, config, seed, size: values.size === 'small' ? 'small' : 'full' };
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

function table({
  standings,
  overall: all,
}: {
  standings: Standing[];
  overall: ReturnType<typeof overall>;
}): string {
  const ms = (value: number): string => value.toFixed(value < 100 ? 1 : 0);
  const rows = standings.map((s) => [
    s.scenario,
    `${ms(s.ours.mean)} ±${ms(s.ours.plusMinus)}`,
    `${s.bestTuned.policy}${s.bestTuned.variant === '' ? '' : ` (${s.bestTuned.variant})`}`,
    ms(s.bestTuned.ttftMs),
    `${s.ratio.mean.toFixed(3)} ±${s.ratio.plusMinus.toFixed(3)}`,
    s.bestUntuned.policy,
    ms(s.bestUntuned.ttftMs),
    `${(100 * s.goodput).toFixed(1)} / ${(100 * s.bestTuned.goodput).toFixed(1)} %`,
    `${ms(s.tpotMs)} / ${ms(s.roundRobinTpotMs)}`,
  ]);
  const head = [
    'scenario',
    'ours, TTFT ms',
    'best tuned rival',
    'TTFT ms',
    'ours ÷ it',
    'best untuned',
    'TTFT ms',
    'goodput ours / its',
    'TPOT ours / round robin',
  ];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  return `${lines.join('\n')}\n\nGeometric mean over scenarios, ours over ${all.bestSingle}, the best single rival untuned: ${all.ratio.toFixed(3)}\n`;
}
