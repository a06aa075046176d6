import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import { drawnScenario } from '../scenarios/drawn.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import type { Baseline } from './baselines.ts';
import { type Contest, contestOf, placedAtOnce, waiting } from './contest.ts';
import { COLUMNS, policyReport } from './report.ts';
import { runAll } from './run-all.ts';
import { scenariosFrom } from './scenarios.ts';
import {
  bestOf,
  type Entry,
  mean,
  missedBounds,
  overall,
  type Standing,
  standing,
} from './standings.ts';
import type { PolicyJob } from './worker.ts';

/**
 * Compares the default policy with every baseline, tuned for each scenario and untuned: `npm run
 * bench -- policies`. Baselines are tuned on other seeds than those of the comparison. Ends with 1
 * where a bound is missed, or a scenario is left out for lack of time.
 */
const { values } = parseArgs({
  options: {
    traces: { type: 'string' },
    seeds: { type: 'string', default: '10' },
    'tuning-seeds': { type: 'string', default: '2' },
    size: { type: 'string', default: 'full' },
    only: { type: 'string' },
    drawn: { type: 'string' },
    out: { type: 'string' },
    minutes: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench -- policies [options]

  --traces DIR        folder with mooncake-conversation.jsonl and azure-2023-conversation.csv;
                      without it only synthetic scenarios run
  --seeds N           draws of each scenario for the comparison (10)
  --tuning-seeds N    draws of each scenario for tuning the baselines (2)
  --size small|full   size of each scenario (full)
  --only A,B          run only these scenarios
  --drawn N           run N random scenarios instead (drawn-1 …): pool, prompts and load are drawn
  --minutes N         begin no scenario after so long (15); those left out are named
  --out DIR           write policies.json and policies.html there
  --json              print one JSON document
`;

/** Seeds for tuning start here, far from those of the comparison. */
const TUNING_SEED = 1000;

if (values.help) process.stdout.write(HELP);
else await run();

async function run(): Promise<void> {
  const scenarios = chosen();
  const standings: Standing[] = [];
  const endsAt = performance.now() + 60_000 * Number(values.minutes);
  const left: string[] = [];
  for (const scenario of scenarios) {
    if (performance.now() > endsAt) {
      left.push(scenario.name);
      continue;
    }
    process.stderr.write(`${scenario.name} `);
    standings.push(await judge(scenario.name, contestOf(scenario)));
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
  const missed = [
    ...missedBounds(report),
    ...left.map((name) => `${name}: no time was left for it`),
  ];
  for (const each of missed) process.stderr.write(`MISSED ${each}\n`);
  if (missed.length > 0) process.exitCode = 1;
}

function chosen(): readonly Scenario[] {
  const { drawn, only } = values;
  if (drawn !== undefined) {
    const names = Array.from({ length: Number(drawn) }, (_, index) => `drawn-${index + 1}`);
    return names.flatMap((name) => drawnScenario(name) ?? []);
  }
  const names = only?.split(',');
  return scenariosFrom(values.traces).filter(({ name }) => names?.includes(name) ?? true);
}

async function judge(scenario: string, { ours, baselines, figure }: Contest): Promise<Standing> {
  const tuned = await tune(scenario, { baselines, figure });
  const candidates = [
    { policy: 'default', variant: '', config: ours },
    ...baselines.map(({ name, variants }) => ({
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
  const found = standing(scenario, entries, figure);
  const rival = candidates.find(
    ({ policy, variant }) => policy === found.bestUntuned.policy && variant === '',
  );
  const variants = [waiting(rival?.config ?? 'default'), placedAtOnce(ours)];
  const more = await simulateAll(
    variants.flatMap((config) => seeds.map((seed) => jobOf(scenario, config, seed))),
  );
  const [rivalWaitingMs, oursAtOnceMs] = variants.map((_, index) =>
    mean(
      {
        policy: '',
        variant: '',
        summaries: more.slice(index * seeds.length, (index + 1) * seeds.length),
      },
      figure,
    ),
  );
  return { ...found, rivalWaitingMs, oursAtOnceMs };
}

/** The best variant of each baseline that has variants, on tuning seeds. */
async function tune(
  scenario: string,
  { baselines, figure }: Pick<Contest, 'baselines' | 'figure'>,
): Promise<readonly { policy: string; variant: string; config: string }[]> {
  const count = Number(values['tuning-seeds']);
  const seeds = Array.from({ length: count }, (_, index) => TUNING_SEED + index);
  const trials = baselines
    .filter(({ variants }) => variants.size > 1)
    .flatMap(({ name, variants }: Baseline) =>
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
    .map((group) => bestOf(group, figure))
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
  const rows = standings.map((standing) => COLUMNS.map(({ cell }) => cell(standing)));
  const head = COLUMNS.map((column) => column.head);
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  const ratio = all.ratio.toFixed(3);
  return `Mean time to first token, except where noted.\n\n${lines.join('\n')}\n\nGeometric mean over scenarios, ours over ${all.bestSingle}, the best single baseline untuned: ${ratio}\n`;
}
