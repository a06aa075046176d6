import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fetchChromium } from '../bench/support/chromium.ts';
import { buildKubernetes } from '../bench/support/kubernetes-binaries.ts';
import { messageOf } from '../src/framework/error.ts';
import { figureTable } from './docs/figure-table.ts';
import { closingLine, countEvents, countTests, type TestCounts } from './house/count-tests.ts';
import { failureSummary, REPORT_FILE, readTestLog, TEST_LOG_FILE } from './house/test-log.ts';
import { prepareImageBase } from './install/image-tools.ts';
import { buildManifestTools } from './support/kubernetes/manifest-tools.ts';
import { buildCheckout } from './support/programs/build-checkout.ts';

/**
 * `npm test`: runs vitest, prints the figures that tests have measured beside the promised ones,
 * names what failed with the first lines of each error, and ends with one line such as `212 passed,
 * 0 failed` for machines. `--long` adds the `*.long.test.ts` files. `--kubernetes` first builds a
 * real API server if there is none, and `--browser` fetches a real Chromium, and `--image` makes
 * the base of container images. All other arguments, such as a file name or `-t`, go to vitest.
 */

/** The oldest Node that runs TypeScript, which tests of the command line need. */
const NODE_MIN: readonly [number, number] = [22, 18];
/**
 * Limit of a run, against tests that hang. Two idle cores need less than 10 minutes; a machine with
 * other work may need several times that. Long tests run at night and have another limit.
 */
const LIMIT_MS = 45 * 60_000;
/** Time for vitest to end its workers before SIGKILL. */
const STOP_MS = 10_000;
const LONG_LIMIT_MS = 3 * 60 * 60_000;

const OWN_FLAGS: ReadonlySet<string> = new Set(['--long', '--kubernetes', '--browser', '--image']);

const root = dirname(import.meta.dirname);
/** What tests start as a child process. It is built before the first of them. */
const PROGRAM = join(root, 'dist', 'src', 'main.js');

function nodeFault(): string | undefined {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [majorMin, minorMin] = NODE_MIN;
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return (
    `the tests need Node ${majorMin}.${minorMin} or newer, but this is ${process.version}; ` +
    'run `npm ci`, which installs a newer Node, and start them with `npm test`'
  );
}

const COMPILE_SOURCES = join(import.meta.dirname, 'support/programs/compile-sources.ts');

interface Ended {
  readonly exitCode: number;
  readonly stopped: boolean;
}

function runVitest(args: readonly string[], long: boolean, folder: string): Promise<Ended> {
  const vitest = join(
    dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
    'vitest.mjs',
  );
  // The same modules are loaded by each process and each thread that a test starts.
  const compiled = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'compiled') };
  spawnSync(process.execPath, [COMPILE_SOURCES], { stdio: 'inherit', env: compiled });
  // The tests and what they start leave their files here, and the folder goes away after the run.
  const scratch = join(folder, 'tmp');
  mkdirSync(scratch);
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...compiled,
      POINTSMAN_LONG_TESTS: long ? '1' : '0',
      POINTSMAN_TEST_REPORTS: folder,
      TMPDIR: scratch,
      POINTSMAN_PROGRAM: PROGRAM,
    },
  });
  // Whatever ends this process ends the tests, too.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  let stopped = false;
  const limitMs = long ? LONG_LIMIT_MS : LIMIT_MS;
  const limit = setTimeout(() => {
    stopped = true;
    process.stderr.write(
      `the tests took longer than ${limitMs / 60_000} minutes and were stopped\n`,
    );
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), STOP_MS).unref();
  }, limitMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(limit);
      resolve({ exitCode: code ?? 1, stopped });
    });
  });
}

function readReport(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    process.stderr.write(`cannot read the report of vitest: ${messageOf(error)}\n`);
    return undefined;
  }
}

/** Prints the figures and what failed. Returns the counts for the closing line. */
function summarize(folder: string, { exitCode, stopped }: Ended): TestCounts {
  const report = readReport(join(folder, REPORT_FILE));
  const events = readTestLog(join(folder, TEST_LOG_FILE));
  const counts = report === undefined ? countEvents(events) : countTests(report);
  if (report !== undefined) process.stdout.write(figureTable(report) ?? '');
  const nothingRan = counts.passed + counts.failed === 0;
  let summary = failureSummary(events);
  if (nothingRan) summary += 'NO TEST RAN\n';
  if (stopped) summary += 'STOPPED: the run took longer than its limit\n';
  if (exitCode !== 0 && summary === '') summary = `VITEST ENDED with exit code ${exitCode}\n`;
  process.stdout.write(summary);
  // An error outside all tests, or an incomplete report, counts as one failed test.
  const hasFault = exitCode !== 0 || nothingRan || events.some(({ event }) => event === 'error');
  const uncounted = counts.failed === 0 && hasFault ? 1 : 0;
  return { ...counts, failed: counts.failed + uncounted };
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Builds a real API server before the tests, outside their time limit. Returns why it cannot. */
async function prepareKubernetes(): Promise<string | undefined> {
  const built = await buildKubernetes(log);
  if ('unavailable' in built) return built.unavailable;
  return (await buildManifestTools(log))?.unavailable;
}

/** Fetches a real Chromium before the tests. Returns why it cannot. */
async function prepareBrowser(): Promise<string | undefined> {
  const fetched = await fetchChromium(log);
  return 'unavailable' in fetched ? fetched.unavailable : undefined;
}

/**
 * Gets what the flags ask for. False where something is missing without which nothing is tested.
 */
async function prepare(flags: ReadonlySet<string>): Promise<boolean> {
  const parts = [
    { flag: '--kubernetes', get: prepareKubernetes },
    { flag: '--browser', get: prepareBrowser },
    { flag: '--image', get: () => prepareImageBase(log) },
  ];
  for (const { flag, get } of parts) {
    if (!flags.has(flag) && (process.env['CI'] === undefined || flag === '--image')) continue;
    const missing = await get();
    if (missing !== undefined) log(missing);
    if (flags.has(flag) && missing !== undefined) return false;
  }
  return true;
}

async function main(): Promise<void> {
  const long = process.argv.includes('--long');
  const args = process.argv.slice(2).filter((argument) => !OWN_FLAGS.has(argument));
  const fault = nodeFault();
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    process.stdout.write(`${closingLine({ passed: 0, failed: 1, skipped: 0 })}\n`);
    process.exitCode = 1;
    return;
  }
  if (!(await prepare(new Set(process.argv)))) {
    process.stdout.write(`${closingLine({ passed: 0, failed: 1, skipped: 0 })}\n`);
    process.exitCode = 1;
    return;
  }
  buildCheckout(root);
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-tests-'));
  try {
    const total = summarize(folder, await runVitest(args, long, folder));
    process.stdout.write(`${closingLine(total)}\n`);
    process.exitCode = total.failed === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

await main();
