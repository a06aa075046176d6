import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFile } from '../src/files/folders.ts';
import { compare } from '../src/lab/run-summary/compare.ts';
import { STUDY_OBJECTIVE } from '../src/lab/run-summary/service-objective.ts';
import type { SimulationJob } from '../src/lab/simulate/run-job.ts';
import { runJobs } from '../src/lab/simulate/run-jobs.ts';
import { parseOptions } from './support/parse-options.ts';

const HELP = `npm run bench -- sizing [options]

Simulates one, four and forty pickers that see each other late, and prints the table of docs/sizing.md.

  --seeds <n>      draws of each row (3)
  --parallel <n>   simulations at once (1)
`;

/** The rows of docs/sizing.md: pickers, and how long what they share takes to the others. */
const ROWS = [
  { pickers: 1, knows: '', shareDelayMs: undefined },
  { pickers: 4, knows: 'all, after 20 ms', shareDelayMs: 20 },
  { pickers: 4, knows: 'all, after 1 s', shareDelayMs: 1000 },
  { pickers: 4, knows: 'nothing', shareDelayMs: undefined },
  { pickers: 40, knows: 'all, after 20 ms', shareDelayMs: 20 },
  { pickers: 40, knows: 'all, after 1 s', shareDelayMs: 1000 },
  { pickers: 40, knows: 'nothing', shareDelayMs: undefined },
] as const;

/** The defaults of `pointsman simulate --speed 3`, so that the command there gives the same. */
const EFFORT = { config: 'default', speed: 3, spreadMs: 10_000, scrapeIntervalMs: 50 };
const TRACE = 'bench/traces/mooncake-conversation-5min.jsonl';
const POOL = 'servers:\n  - { count: 8, preset: llama-3.1-8b-h100 }\n';

const { values } = parseOptions({
  options: {
    seeds: { type: 'string', default: '3' },
    parallel: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else await measure(Number(values.seeds), Number(values.parallel));

async function measure(seeds: number, parallel: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-sizing-'));
  const pool = join(folder, 'eight.yaml');
  writeFileSync(pool, POOL);
  const shape = { merge: [], shiftMs: 0, loop: 1, thin: 1 };
  const source = {
    trace: packageFile(TRACE),
    pool,
    plugins: [],
    closedLoop: false,
    lenient: false,
    shape,
  };
  try {
    const results = await runJobs({ source, jobs: jobsOf(seeds), parallel });
    process.stdout.write(tableOf(compare(results)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function jobsOf(seeds: number): readonly SimulationJob[] {
  return ROWS.flatMap(({ pickers, shareDelayMs }, row) =>
    Array.from({ length: seeds }, (_, index) => ({
      ...EFFORT,
      name: String(row),
      seed: index + 1,
      // One draw is the trace itself, as with `simulate`.
      spreadMs: seeds === 1 ? 0 : EFFORT.spreadMs,
      replicas: pickers,
      ...(shareDelayMs !== undefined && { shareDelayMs }),
      objective: STUDY_OBJECTIVE,
    })),
  );
}

function tableOf(reports: ReturnType<typeof compare>): string {
  const share = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const rows = reports.map(({ figures: { ttftMeanMs, goodput, hitRate } }, row) => {
    const { pickers, knows } = ROWS[row] ?? { pickers: 0, knows: '' };
    const ttft = `${Math.round(ttftMeanMs.mean).toLocaleString('en')} ms`;
    return [String(pickers), knows, ttft, share(goodput.mean), share(hitRate.mean)];
  });
  const heads = [
    'pickers',
    'what each knows of the others',
    'mean time to first token',
    'good answers',
    'prompt tokens found in caches',
  ];
  const lines = [heads, heads.map((head) => '-'.repeat(head.length)), ...rows];
  return `${lines.map((cells) => `| ${cells.map((cell, at) => cell.padEnd(heads[at]?.length ?? 0)).join(' | ')} |`).join('\n')}\n`;
}
