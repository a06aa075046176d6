import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseOptions } from '../bench/support/parse-options.ts';

/**
 * `npm run test:busy -- --runs 10`: repeats the tests beside processes that each keep a core busy,
 * and prints what failed in each run. Files and other arguments after `--` go to the tests:
 * `npm run test:busy -- --runs 10 --hogs 2 -- test/stub`. Exits 1 if a test has failed.
 */

const HELP = `npm run test:busy -- [options] [-- arguments of the tests]

Repeats the tests beside processes that keep a core busy, and prints what failed in each run.

  --runs <n>   how often the tests are run (10)
  --hogs <n>   processes that each keep a core busy (1)
`;
const { values, positionals } = parseOptions(
  {
    options: {
      runs: { type: 'string', default: '10' },
      hogs: { type: 'string', default: '1' },
    },
    allowPositionals: true,
  },
  HELP,
);
const runs = wholeNumber('--runs', values.runs, 1, 100);
const hogCount = wholeNumber('--hogs', values.hogs, 0, 64);

/** After this a hog ends by itself, should this process not have ended it. */
const HOG_MS = 60 * 60_000;
const HOG = `const end = Date.now() + ${HOG_MS}; while (Date.now() < end);`;

function wholeNumber(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  process.stderr.write(`${flag} is ${text}; it must be a whole number from ${min} to ${max}\n`);
  process.exit(2);
}

interface Run {
  readonly exitCode: number;
  /** The end of its output: what failed, and the closing line. */
  readonly summary: readonly string[];
}

const SUMMARY =
  /^(FAILED|ERROR OUTSIDE TESTS|RUNNING WHEN STOPPED|NO TEST|STOPPED|VITEST ENDED| {4}|\d+ passed,)/;

/** The running processes, which end with this one. */
const children = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of children) child.kill('SIGTERM');
    process.exit(1);
  });
}

function runTests(): Promise<Run> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'run.ts'), ...positionals], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      children.delete(child);
      const lines = text.trimEnd().split('\n');
      const from = lines.findLastIndex((line) => !SUMMARY.test(line)) + 1;
      resolve({ exitCode: code ?? 1, summary: lines.slice(from) });
    });
  });
}

for (let hog = 0; hog < hogCount; hog++) {
  children.add(spawn(process.execPath, ['--eval', HOG], { stdio: 'ignore' }));
}
let failedRuns = 0;
try {
  for (let run = 1; run <= runs; run++) {
    const { exitCode, summary } = await runTests();
    if (exitCode !== 0) failedRuns += 1;
    process.stdout.write(`run ${run} of ${runs}\n${summary.map((line) => `  ${line}\n`).join('')}`);
  }
} finally {
  for (const child of children) child.kill('SIGKILL');
}
process.stdout.write(`${failedRuns} of ${runs} runs beside ${hogCount} busy processes failed\n`);
process.exitCode = failedRuns === 0 ? 0 : 1;
