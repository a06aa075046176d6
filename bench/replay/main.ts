import { type ChildProcess, execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { Command } from 'commander';
import { packageFile } from '../../src/files/folders.ts';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import { compare, type Run } from '../../src/lab/run-summary/compare.ts';
import { renderComparison } from '../../src/lab/run-summary/render-comparison.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type LiveRun, type PolicyPair, pairUp } from './agreement.ts';
import { startLivePath } from './live-path.ts';

/**
 * Whether a live replay and a simulation of the same slice agree: `npm run bench -- replay`. The stubs run in real time
 * behind a real Envoy with our picker; the simulation has the same engines under the virtual clock.
 */

const TRACE = 'bench/traces/mooncake-conversation-5min.jsonl';
/** At these arrivals and engines their means are apart by more than what another draw changes. */
const POLICIES = 'default,reference-default,least-request,round-robin,random';
/** Slow enough that a prompt takes the engine far longer than the rest of the way takes this machine. */
const PRESET = 'llama-3.3-70b-h100-tp4';
const APART_MAX = 0.1;
/** Draws that tell how much of a difference is luck, each arrival moved by up to so much of the trace's time. */
const DRAWS = 10;
const SPREAD_MS = 500;
/** Arrivals take little over a minute; whatever hangs is ended by then. */
const RUN_TIMEOUT_MS = 300_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const SEED = 1;
const TICK_MS = 3000;
/** A sender that is later than this has not got its share of the machine, and the rest of the way neither. */
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
  /** The same engines for both, in two files: only those that run have ports. */
  readonly pool: string;
  readonly stubs: string;
  readonly envoy: string;
}

const running = new Set<ChildProcess>();

/** Runs a command of ours that prints one JSON document. */
function ask(args: readonly string[]): Promise<unknown> {
  const main = join(import.meta.dirname, `../../src/main${extname(import.meta.filename)}`);
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [main, ...args, '--json'],
      { timeout: RUN_TIMEOUT_MS, maxBuffer: OUTPUT_BYTES_MAX },
      (error, stdout) => {
        running.delete(child);
        if (error === null) resolve(JSON.parse(stdout, nullIsUnknown));
        else reject(error);
      },
    );
    running.add(child);
  });
}

/** JSON has no NaN. */
function nullIsUnknown(_key: string, value: unknown): unknown {
  return value === null ? Number.NaN : value;
}

async function simulated(
  { trace, pool, speed, names }: Inputs,
  seeds: number,
): Promise<readonly Run[]> {
  const configs = names.flatMap((name) => ['--config', name]);
  const draws = ['--seeds', String(seeds), '--spread', String(SPREAD_MS)];
  const where = ['--trace', trace, '--pool', pool, '--speed', String(speed)];
  const { results } = (await ask(['simulate', ...where, ...configs, ...draws])) as {
    readonly results: readonly Run[];
  };
  return results;
}

async function live({ trace, stubs, speed, envoy }: Inputs, name: string): Promise<LiveRun> {
  const path = await startLivePath({ envoy, pool: stubs, config: name, seed: SEED });
  try {
    const what = ['--target', path.url, '--trace', trace, '--speed', String(speed)];
    const how = ['--name', name, '--salt', 'bench', '--timeout', '240'];
    const { results } = (await ask(['replay', ...what, ...how])) as {
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

/** Whoever else is at work here is in the live figures. */
function loadNote(pairs: readonly PolicyPair[]): string {
  const late = pairs.filter(({ lateMs }) => lateMs > LATE_MS).length;
  const [load = 0] = loadavg();
  const machine = `at the end ${load.toFixed(1)} threads wanted this machine's ${availableParallelism()} processors`;
  if (late === 0) return machine;
  return `${late} live runs had requests leave over ${LATE_MS} ms late: they tell of this machine as well; ${machine}`;
}

function isClose({ liveMs, simulatedMs }: PolicyPair): boolean {
  return Math.abs(liveMs / simulatedMs - 1) <= APART_MAX;
}

function isRankedAlike({ liveRank, simulatedRank }: PolicyPair): boolean {
  return liveRank === simulatedRank;
}

function verdict(pairs: readonly PolicyPair[]): string {
  const rows = pairs.map(
    ({ name, simulatedMs, drawsMs, liveMs, lateMs, simulatedRank, liveRank }) =>
      `${name.padEnd(18)}${simulatedMs.toFixed(0).padStart(12)}${drawsMs
        .map((each) => each.toFixed(0))
        .join('–')
        .padStart(
          14,
        )}${liveMs.toFixed(0).padStart(10)}${(liveMs / simulatedMs).toFixed(3).padStart(8)}${String(simulatedRank).padStart(16)}${String(liveRank).padStart(11)}${lateMs.toFixed(0).padStart(13)}`,
  );
  const close = pairs.filter(isClose).length;
  const alike = pairs.every(isRankedAlike);
  return [
    `${'median TTFT, ms'.padEnd(18)}${'simulated'.padStart(12)}${`of ${DRAWS} draws`.padStart(14)}${'live'.padStart(10)}${'ratio'.padStart(8)}${'rank simulated'.padStart(16)}${'rank live'.padStart(11)}${'late p99'.padStart(13)}`,
    ...rows,
    '',
    `${close} of ${pairs.length} medians within ${100 * APART_MAX} %; the ranking of ${pairs.length} policies is ${alike ? 'the same' : 'another'}`,
    '',
  ].join('\n');
}

/**
 * The trace's times are whole ticks of three seconds, at which ten requests come at once: no traffic is like that, and
 * which of ten comes first is chance. Each is moved within its tick.
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
  .description('a live replay through Envoy against a simulation of the same slice')
  .option('--policies <names>', 'configurations, comma-separated', POLICIES)
  .option('--requests <n>', 'of the trace, from its beginning', Number, 300)
  .option('--speed <times>', 'arrivals so many times as fast', Number, 1.5)
  .option('--stubs <n>', 'model servers', Number, 8)
  .option('--json', 'print one JSON document', false)
  .action(main)
  .parseAsync();
