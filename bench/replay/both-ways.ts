import { type ChildProcess, execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { packageFile } from '../../src/files/folders.ts';
import { startLivePath } from '../../src/lab/demo/live-path.ts';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import type { Run } from '../../src/lab/run-summary/compare.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { LiveRun } from './agreement.ts';

const TRACE = 'bench/traces/mooncake-conversation-5min.jsonl';
/** So slow that the engine needs far longer for a prompt than this machine for all else. */
const PRESET = 'llama-3.3-70b-h100-tp4';
/** Arrivals take little more than a minute; a command that takes longer than this is killed. */
const RUN_TIMEOUT_MS = 300_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const SEED = 1;
const TICK_MS = 3000;
/** If requests are sent later than this, the machine is overloaded. */
export const LATE_MS = 25;

/** What is replayed, and to how many model servers. */
export interface Sizes {
  readonly requests: number;
  /** How many times faster than in the trace. */
  readonly speed: number;
  readonly stubs: number;
}

/** The same requests and engines for both ways. */
export interface Inputs {
  readonly speed: number;
  readonly trace: string;
  /** Pool file for the simulation. */
  readonly pool: string;
  /** Pool file of the same engines for the stubs, with ports. */
  readonly stubs: string;
  /** Path of Envoy's binary. */
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

/** Draws of the arrivals, each moved by up to `spreadMs` of the trace's own time. */
export interface Draws {
  readonly seeds: number;
  readonly spreadMs: number;
}

/** Simulates each configuration, by name or file, with all draws. */
export async function simulated(
  { trace, pool, speed }: Inputs,
  names: readonly string[],
  { seeds, spreadMs }: Draws,
): Promise<readonly Run[]> {
  const configs = names.flatMap((name) => ['--config', name]);
  const draws = ['--seeds', String(seeds), '--spread', String(spreadMs)];
  const where = ['--trace', trace, '--pool', pool, '--speed', String(speed)];
  const { results } = (await runCommand(['simulate', ...where, ...configs, ...draws])) as {
    readonly results: readonly Run[];
  };
  return results;
}

/**
 * Replays the requests to stubs in real time, behind a picker with this configuration and a real
 * Envoy.
 */
export async function live({ trace, stubs, speed, envoy }: Inputs, name: string): Promise<LiveRun> {
  const path = await startLivePath({
    stubArgs: ['--pool', stubs],
    config: name,
    seed: SEED,
    envoy,
  });
  try {
    const what = ['--target', path.url, '--trace', trace, '--speed', String(speed)];
    // In a simulation the picker does not know how long an answer will be.
    const how = ['--name', name, '--salt', 'bench', '--timeout', '240', '--stub-lengths'];
    const { results } = (await runCommand(['replay', ...what, ...how])) as {
      readonly results: readonly [LiveRun];
    };
    return results[0];
  } finally {
    await path.stop();
  }
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

function inputsOf(sizes: Sizes, folder: string, envoy: string): Inputs {
  const trace = join(folder, 'slice.jsonl');
  const pool = join(folder, 'pool.yaml');
  writeFileSync(trace, sliceOf(readFileSync(packageFile(TRACE), 'utf8'), sizes.requests));
  const stubs = join(folder, 'stubs.yaml');
  const servers = `servers: [{ count: ${sizes.stubs}, preset: ${PRESET}, jitter: 0 }]\n`;
  writeFileSync(pool, servers);
  writeFileSync(stubs, `${servers}port: 0\n`);
  return { speed: sizes.speed, trace, pool, stubs, envoy };
}

/**
 * Makes the files of both ways and removes them again; ends what runs where the process is ended.
 */
export async function withInputs(
  sizes: Sizes,
  use: (inputs: Inputs) => Promise<void>,
): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      for (const child of running) child.kill('SIGKILL');
      process.exit(130);
    });
  }
  const envoy = await fetchEnvoy({ log: (line) => process.stderr.write(`${line}\n`) });
  if ('unavailable' in envoy) throw new Error(`there is no Envoy: ${envoy.unavailable}`);
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-replay-'));
  try {
    await use(inputsOf(sizes, folder, envoy.path));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
