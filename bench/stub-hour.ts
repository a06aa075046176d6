import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { Engine } from '../stub-server/engine/engine.ts';
import { latencyModel } from '../stub-server/engine/latency-model.ts';
import { EngineStats } from '../stub-server/metrics/engine-stats.ts';
import { PRESETS } from '../stub-server/presets/presets.ts';
import { parseOptions } from './support/parse-options.ts';

/**
 * Runs one hour of 100 engines with prefix caching in virtual time, with ten requests per second at
 * each: `npm run bench -- stub-hour`. Engines are independent, so they run one after another, on as
 * many threads as there are cores. The digest over all completions and the metrics of all engines
 * shows that the results do not depend on the number of threads.
 */

const HELP = `npm run bench -- stub-hour [options]

Runs engines of the stub in virtual time and prints how long that took.

  --engines <n>   number of engines (100)
  --hours <n>     virtual hours (1)
  --rate <n>      requests per second at each engine (10)
  --threads <n>   number of threads (the number of cores)
  --json          print one JSON document
`;

interface Load {
  readonly engines: number;
  readonly hours: number;
  readonly rate: number;
}

interface Share extends Load {
  /** This share has the engines `first`, `first + stride`, `first + 2 * stride` and so on. */
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
/** The first three quarters of a prompt are one of `SHARED_PROMPTS` texts. */
const PROMPT_TOKENS = 1000;
const SHARED_BLOCKS = 48;
const OWN_BLOCKS = 14;
const SHARED_PROMPTS = 400;
const OUTPUT_TOKENS_MAX = 500;

/**
 * Submits requests to one engine. The returned function gives the results when no timer is left.
 */
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

/**
 * Runs one engine after another, each with a separate clock, so that the block table of an engine
 * stays in the processor's caches.
 */
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
  const { values } = parseOptions({
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
