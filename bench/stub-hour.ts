import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { SimulatedClock } from '../src/runtime/simulated-clock.ts';
import { Engine } from '../stub-server/engine/engine.ts';
import { latencyModel } from '../stub-server/engine/latency-model.ts';
import { EngineStats } from '../stub-server/metrics/engine-stats.ts';
import { PRESETS } from '../stub-server/presets/presets.ts';

/**
 * An hour of a hundred engines in virtual time, ten requests a second at each, with prefix caching: `npm run bench --
 * stub-hour`. Engines know nothing of one another, so they run one after another, on as many threads as there are cores; what comes out is the same however
 * many there are, as the digest over every completion and every engine's metrics says.
 */

const HELP = `npm run bench -- stub-hour [options]

  --engines <n>   (100)
  --hours <n>     (1)
  --rate <n>      requests a second at each (10)
  --threads <n>   (as many as there are cores)
  --json          one JSON document
`;

interface Load {
  readonly engines: number;
  readonly hours: number;
  readonly rate: number;
}

interface Share extends Load {
  /** Of the engines, the first, and how many lie between two of them. */
  readonly first: number;
  readonly stride: number;
}

interface EngineResult {
  readonly index: number;
  readonly requests: number;
  readonly generatedTokens: number;
  readonly digest: string;
}

const PRESET = PRESETS['llama-3.1-8b-h100'];
const BLOCK_TOKENS = 16;
/** A thousand tokens, of which the first three quarters are one of some hundred shared prompts. */
const PROMPT_TOKENS = 1000;
const SHARED_BLOCKS = 48;
const OWN_BLOCKS = 14;
const SHARED_PROMPTS = 400;
const OUTPUT_TOKENS_MAX = 500;

/** Submits requests at one engine until the time is over; gives what came of them, once the clock has run out. */
function loadEngine(
  clock: SimulatedClock,
  index: number,
  { hours, rate }: Load,
): () => EngineResult {
  const random = seededRandom(1).fork(`engine ${index}`);
  const stats = new EngineStats();
  const engine = new Engine({
    clock,
    latency: latencyModel(PRESET.latency),
    observer: stats,
    kvBlocks: PRESET.kvBlocks,
    sequencesMax: PRESET.sequencesMax,
    batchedTokensMax: PRESET.batchedTokensMax,
    blockTokens: BLOCK_TOKENS,
    admissionMs: PRESET.admissionMs,
  });
  const digest = createHash('sha256');
  const done = new Float64Array(512);
  let unhashed = 0;
  let requests = 0;
  let nextBlock = 1e9;
  const arrive = (): void => {
    const blockHashes = new Float64Array(SHARED_BLOCKS + OWN_BLOCKS);
    const shared = Math.floor(random.next() * SHARED_PROMPTS) * 1000;
    for (let at = 0; at < SHARED_BLOCKS; at++) blockHashes[at] = shared + at + 1;
    for (let at = 0; at < OWN_BLOCKS; at++) blockHashes[SHARED_BLOCKS + at] = nextBlock++;
    engine.submit({
      promptTokens: PROMPT_TOKENS,
      blockHashes,
      outputTokens: 1 + Math.floor(random.next() * OUTPUT_TOKENS_MAX),
      onDone: () => {
        requests += 1;
        done[unhashed++] = clock.now();
        if (unhashed < done.length) return;
        digest.update(done);
        unhashed = 0;
      },
    });
    if (clock.now() < hours * 3_600_000) clock.setTimer(gapMs(), arrive);
  };
  const gapMs = (): number => (-Math.log(1 - random.next()) / rate) * 1000;
  clock.setTimer(gapMs(), arrive);
  return () => {
    digest.update(done.subarray(0, unhashed)).update(JSON.stringify(stats));
    const { generatedTokens } = stats;
    return { index, requests, generatedTokens, digest: digest.digest('hex') };
  };
}

/** One engine after another, each by a clock of its own: its block table stays in the processor's caches. */
function runShare({ first, stride, ...load }: Share): readonly EngineResult[] {
  const results: EngineResult[] = [];
  for (let index = first; index < load.engines; index += stride) {
    const clock = new SimulatedClock();
    const result = loadEngine(clock, index, load);
    while (clock.step()) continue;
    results.push(result());
  }
  return results;
}

function runInThread(share: Share): Promise<readonly EngineResult[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(import.meta.filename, { workerData: share });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      engines: { type: 'string', default: '100' },
      hours: { type: 'string', default: '1' },
      rate: { type: 'string', default: '10' },
      threads: { type: 'string', default: String(availableParallelism()) },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const stride = Number(values.threads);
  const load = {
    engines: Number(values.engines),
    hours: Number(values.hours),
    rate: Number(values.rate),
  };
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const shares = Array.from({ length: stride }, (_, first) => ({ ...load, first, stride }));
  const results = (await Promise.all(shares.map(runInThread))).flat();
  const cpu = process.cpuUsage(cpuBefore);
  const digest = createHash('sha256');
  for (const result of results.toSorted((a, b) => a.index - b.index)) digest.update(result.digest);
  const figures = {
    ...load,
    threads: stride,
    requests: results.reduce((sum, { requests }) => sum + requests, 0),
    generatedTokens: results.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0),
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    cpuSeconds: Math.round((cpu.user + cpu.system) / 1e5) / 10,
    digest: digest.digest('hex').slice(0, 16),
  };
  process.stdout.write(
    values.json
      ? `${JSON.stringify(figures)}\n`
      : `${Object.entries(figures)
          .map(([name, value]) => `${name.padEnd(16)}${value}`)
          .join('\n')}\n`,
  );
}

if (isMainThread) await main();
else parentPort?.postMessage(runShare(workerData as Share));
