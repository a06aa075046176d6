import { type ChildProcess, execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { Command } from 'commander';
import { packageFile } from '../../src/files/folders.ts';
import { startLivePath } from '../../src/lab/demo/live-path.ts';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import { compare, type Run } from '../../src/lab/run-summary/compare.ts';
import { alignedTable, renderComparison } from '../../src/lab/run-summary/render-comparison.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type LiveRun, type PolicyPair, pairUp } from './agreement.ts';

/**
 * Measures whether a live replay and a simulation of the same requests agree: `npm run bench --
 * replay`. Live, the stubs run in real time behind a real Envoy with the picker; the simulation has
 * the same engines under the virtual clock.
 */

const TRACE = 'bench/traces/mooncake-conversation-5min.jsonl';
/** With these arrivals and engines their means differ by more than draws of one policy do. */
const POLICIES = 'default,reference-default,least-request,round-robin,random';
/** So slow that the engine needs far longer for a prompt than this machine for all else. */
const PRESET = 'llama-3.3-70b-h100-tp4';
/** Medians may differ by this share. */
const APART_MAX = 0.1;
/** Draws show how much of a difference is chance; each moves arrivals by up to `SPREAD_MS`. */
const DRAWS = 10;
const SPREAD_MS = 500;
/** Arrivals take little more than a minute; a command that takes longer than this is killed. */
const RUN_TIMEOUT_MS = 300_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const SEED = 1;
const TICK_MS = 3000;
/** If requests are sent later than this, the machine is overloaded. */
const LATE_MS = 25;

interface Flags {
  readonly policies: string;
  readonly requests: number;
  readonly speed: number;
  readonly stubs: number;
  readonly json: boolean;
}

interface Inputs extends Omit<Flags, 'stubs'> {
  readonly names: readonly string[];
  readonly trace: string;
  /** Pool file for the simulation. */
  readonly pool: string;
  /** Pool file of the same engines for the stubs, with ports. */
  readonly stubs: string;
  readonly envoy: string;
}

const running = new Set<ChildProcess>();

/** Runs a `pointsman` command that prints one JSON document. */
function runCommand(args: readonly string[]): Promise<unknown> {
  const main = join(import.meta.dirname, `../../src/main${extname(import.meta.filename)}`);
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [main, ...args, '--json'],
      { timeout: RUN_TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX },
      (error, stdout) => {
        running.delete(child);
        // JSON has null in the place of NaN.
        if (error === null) resolve(JSON.parse(stdout, (_, value) => value ?? Number.NaN));
        else reject(error);
      },
    );
    running.add(child);
  });
}

async function simulated(
  { trace, pool, speed, names }: Inputs,
  seeds: number,
): Promise<readonly Run[]> {
  const configs = names.flatMap((name) => ['--config', name]);
  const draws = ['--seeds', String(seeds), '--spread', String(SPREAD_MS)];
  const where = ['--trace', trace, '--pool', pool, '--speed', String(speed)];
  const { results } = (await runCommand(['simulate', ...where, ...configs, ...draws])) as {
    readonly results: readonly Run[];
  };
  return results;
}

async function live({ trace, stubs, speed, envoy }: Inputs, name: string): Promise<LiveRun> {
  const path = await startLivePath({
    stubArgs: ['--pool', stubs],
    config: name,
    seed: SEED,
    envoy,
  });
  try {
    const what = ['--target', path.url, '--trace', trace, '--speed', String(speed)];
    const how = ['--name', name, '--salt', 'bench', '--timeout', '240'];
    const { results } = (await runCommand(['replay', ...what, ...how])) as {
      readonly results: readonly [LiveRun];
    };
    return results[0];
  } finally {
    await path.stop();
  }
}

async function measure(inputs: Inputs): Promise<void> {
  const same = await simulated(inputs, 1);
  const draws = await simulated(inputs, DRAWS);
  const lives: LiveRun[] = [];
  for (const name of inputs.names) {
    process.stderr.write(`live: ${name}\n`);
    lives.push(await live(inputs, name));
  }
  const pairs = pairUp(same, draws, lives);
  const drawn = compare(draws);
  const document = { simulated: compare(same), draws: drawn, live: compare(lives), pairs };
  if (inputs.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  else {
    process.stdout.write(`simulated\n${renderComparison(document.simulated)}\n`);
    process.stdout.write(`simulated, ${DRAWS} draws\n${renderComparison(drawn)}\n`);
    process.stdout.write(`live, through Envoy\n${renderComparison(document.live)}\n`);
    process.stdout.write(`${verdict(pairs)}${loadNote(pairs)}\n`);
  }
  if (!pairs.every(isClose) || !pairs.every(isRankedAlike)) process.exitCode = 1;
}

/** A sentence about the load of this machine, which the live figures contain. */
function loadNote(pairs: readonly PolicyPair[]): string {
  const late = pairs.filter(({ lateMs }) => lateMs > LATE_MS).length;
  const [load = 0] = loadavg();
  const machine = `load average at the end: ${load.toFixed(1)}, on ${availableParallelism()} processors`;
  if (late === 0) return machine;
  return `${late} live runs sent requests more than ${LATE_MS} ms late, so their figures contain the load of this machine; ${machine}`;
}

function isClose({ liveMs, simulatedMs }: PolicyPair): boolean {
  return Math.abs(liveMs / simulatedMs - 1) <= APART_MAX;
}

function isRankedAlike({ liveRank, simulatedRank }: PolicyPair): boolean {
  return liveRank === simulatedRank;
}

function verdict(pairs: readonly PolicyPair[]): string {
  const heads = ['simulated', `${DRAWS} draws`, 'live', 'ratio', 'rank simulated', 'rank live'];
  const rows = pairs.map(
    ({ name, simulatedMs, drawsMs, liveMs, lateMs, simulatedRank, liveRank }) => [
      name,
      simulatedMs.toFixed(0),
      drawsMs.map((each) => each.toFixed(0)).join('–'),
      liveMs.toFixed(0),
      (liveMs / simulatedMs).toFixed(3),
      String(simulatedRank),
      String(liveRank),
      lateMs.toFixed(0),
    ],
  );
  const close = pairs.filter(isClose).length;
  const ranking = pairs.every(isRankedAlike) ? 'the same' : 'different';
  return [
    alignedTable([['median TTFT, ms', ...heads, 'late p99'], ...rows], 1),
    `${close} of ${pairs.length} medians within ${100 * APART_MAX} %; the ranking of ${pairs.length} policies is ${ranking}`,
    '',
  ].join('\n');
}

/**
 * The trace's times are multiples of three seconds, at which ten requests arrive at once. Real
 * traffic is not like that, and the order of the ten is chance, so each is moved within its tick.
 */
function sliceOf(text: string, requests: number): string {
  const random = seededRandom(SEED).fork('arrivals');
  const rows = text
    .split('\n')
    .slice(0, requests)
    .map((line) => JSON.parse(line) as { readonly timestamp: number })
    .map((row) => ({ ...row, timestamp: row.timestamp + TICK_MS * random.next() }))
    .sort((one, other) => one.timestamp - other.timestamp);
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

function inputsOf(flags: Flags, folder: string, envoy: string): Inputs {
  const trace = join(folder, 'slice.jsonl');
  const pool = join(folder, 'pool.yaml');
  writeFileSync(trace, sliceOf(readFileSync(packageFile(TRACE), 'utf8'), flags.requests));
  const stubs = join(folder, 'stubs.yaml');
  const servers = `servers: [{ count: ${flags.stubs}, preset: ${PRESET}, jitter: 0 }]\n`;
  writeFileSync(pool, servers);
  writeFileSync(stubs, `${servers}port: 0\n`);
  return { ...flags, names: flags.policies.split(','), trace, pool, stubs, envoy };
}

async function main(flags: Flags): Promise<void> {
  const envoy = await fetchEnvoy({ log: (line) => process.stderr.write(`${line}\n`) });
  if ('unavailable' in envoy) throw new Error(`there is no Envoy: ${envoy.unavailable}`);
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-replay-'));
  try {
    await measure(inputsOf(flags, folder, envoy.path));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL');
    process.exit(130);
  });
}

await new Command('replay')
  .description('compare a live replay through Envoy with a simulation of the same requests')
  .option('--policies <names>', 'configurations, separated by commas', POLICIES)
  .option('--requests <n>', 'use the first n requests of the trace', Number, 300)
  .option('--speed <times>', 'how many times faster than in the trace to send', Number, 1.5)
  .option('--stubs <n>', 'number of model servers', Number, 8)
  .option('--json', 'print one JSON document', false)
  .action(main)
  .parseAsync();
