import { parseArgs } from 'node:util';
import { Bench } from 'tinybench';
import { EMBEDDED_CATALOGUE } from '../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../src/config/defaults.ts';
import { loadConfig } from '../src/config/load.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import { chainBlockIds } from '../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';

/**
 * Measures one decision: the whole of `route`, which makes the context and its facts, filters,
 * scores, picks, reserves and calls every plugin, then the release. One endpoint gets a new sample
 * before each pick, so that no pick reuses the snapshot of the previous one. Prompts are hashed
 * beforehand, because a session hashes them while their bytes arrive.
 */

const SEED = 1;
const BLOCK_TOKENS = 64;
/** Conversations that share their first half: most prompts are partly cached somewhere. */
const FAMILIES = 200;
const REQUESTS = 4000;
/** More than the blocks of one text, so that texts have different block ids. */
const BLOCKS_MAX = 1_000_000;

const FIVE_SCORERS = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: running-requests-size-scorer
- type: kv-cache-utilization-scorer
- type: active-request-scorer
- type: prefix-cache-scorer
`;

interface Row {
  readonly policy: string;
  readonly config: string;
  readonly endpoints: number;
  readonly promptTokens: number;
}

interface Figure extends Omit<Row, 'config'> {
  readonly picks: number;
  /** Median of the rounds. */
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** The lowest p99 of all rounds: on a busy machine the other rounds measure the OS scheduler. */
  readonly p99QuietestMicros: number;
}

const DEFAULT = NAMED_CONFIGS.get('default') ?? '';
const REFERENCE = NAMED_CONFIGS.get('reference-default') ?? '';

const ROWS: readonly Row[] = [
  { policy: 'five scorers', config: FIVE_SCORERS, endpoints: 100, promptTokens: 6400 },
  { policy: 'reference default', config: REFERENCE, endpoints: 100, promptTokens: 6400 },
  { policy: 'default', config: DEFAULT, endpoints: 100, promptTokens: 6400 },
  { policy: 'five scorers', config: FIVE_SCORERS, endpoints: 256, promptTokens: 100_000 },
  { policy: 'default', config: DEFAULT, endpoints: 256, promptTokens: 100_000 },
];

function makeRequests(promptTokens: number): readonly InferenceRequest[] {
  const random = seededRandom(SEED).fork('requests');
  const blocks = Math.floor(promptTokens / BLOCK_TOKENS);
  return Array.from({ length: REQUESTS }, (_, turn) => {
    const family = Math.floor(random.next() * FAMILIES);
    const ids = Array.from(
      { length: blocks },
      (_unused, at) => (at < blocks / 2 ? family : FAMILIES + turn) * BLOCKS_MAX + at,
    );
    return {
      id: `r${turn}`,
      model: 'm',
      streaming: true,
      outputTokensMax: undefined,
      promptTokens,
      prompt: chainBlockIds(ids, { seedText: 'm', blockTokens: BLOCK_TOKENS }),
      priority: 0,
      fairnessId: 'default-flow',
      objective: undefined,
      ttftSloMs: undefined,
      tpotSloMs: undefined,
      headers: new Map(),
      bodyBytes: 4 * promptTokens,
    };
  });
}

function makePicker({ config, endpoints }: Row): EndpointPicker {
  const plan = loadConfig({
    text: config,
    source: 'bench',
    catalogue: EMBEDDED_CATALOGUE,
  });
  const network = { get: () => Promise.reject(new Error('no network in this bench')) };
  // The time does not advance, so nothing is scraped and no sample becomes stale.
  const runtime = { clock: new SimulatedClock(), random: seededRandom(SEED), network };
  const picker = new EndpointPicker({ plan, runtime });
  for (let index = 0; index < endpoints; index++) {
    const address = `10.0.${index >> 8}.${index & 255}:8000`;
    picker.pool.upsert({ id: address as EndpointId, address, labels: new Map() });
  }
  return picker;
}

/** Returns a function that samples one endpoint, picks one request and releases it. */
function picking(picker: EndpointPicker, requests: readonly InferenceRequest[]): () => void {
  const random = seededRandom(SEED).fork('metrics');
  const ids = picker.pool.snapshot().map(({ id }) => id);
  const sample = (id: EndpointId): void =>
    picker.pool.observe(id, {
      waitingQueueSize: Math.floor(random.next() * 20),
      runningRequests: Math.floor(random.next() * 64),
      kvCacheUsage: random.next(),
      sampledAt: 0,
    });
  for (const id of ids) sample(id);
  let turn = 0;
  return () => {
    const id = ids[turn % ids.length];
    const request = requests[turn % REQUESTS];
    turn += 1;
    if (id === undefined || request === undefined) return;
    sample(id);
    picker.route(request, { firstTokenSeen: true }).done('completed');
  };
}

async function measure(
  row: Row,
  requests: readonly InferenceRequest[],
  { rounds, seconds }: Effort,
): Promise<Figure> {
  const { policy, endpoints, promptTokens } = row;
  const picker = makePicker(row);
  const pick = picking(picker, requests);
  // Fills the prefix index, as in a picker that has run for a long time.
  for (let warm = 0; warm < REQUESTS; warm++) pick();
  const p50: number[] = [];
  const p99: number[] = [];
  let picks = 0;
  for (let round = 0; round < rounds; round++) {
    const bench = new Bench({ time: (seconds * 1000) / rounds, warmup: false });
    bench.add(policy, pick);
    const [task] = await bench.run();
    const result = task?.result;
    if (result === undefined || !('latency' in result)) {
      throw new Error(`tinybench has no figures for ${policy} over ${endpoints} endpoints`);
    }
    p50.push(result.latency.p50 * 1000);
    p99.push(result.latency.p99 * 1000);
    picks += result.latency.samplesCount;
  }
  picker.stop();
  return {
    policy,
    endpoints,
    promptTokens,
    picks,
    p50Micros: tenths(median(p50)),
    p99Micros: tenths(median(p99)),
    p99QuietestMicros: tenths(Math.min(...p99)),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

interface Effort {
  readonly rounds: number;
  readonly seconds: number;
}

const HELP = `npm run bench -- pick [options]

Measures the time of one decision, without protocol and sockets, with several policies. Prints the
medians of p50 and p99 over several rounds, and the lowest p99 of all rounds.

  --seconds <n>   duration of each row (5)
  --rounds <n>    rounds within that time (5)
  --json          print one JSON document
`;

function effortOf(values: { readonly seconds: string; readonly rounds: string }): Effort {
  const seconds = Number(values.seconds);
  const rounds = Number(values.rounds);
  if (!(seconds > 0)) throw new Error(`--seconds must be above 0, not ${values.seconds}`);
  if (!(Number.isInteger(rounds) && rounds > 0)) {
    throw new Error(`--rounds must be a whole number above 0, not ${values.rounds}`);
  }
  return { seconds, rounds };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const effort = effortOf(values);
  const print = (line: string): void => void (values.json || process.stdout.write(`${line}\n`));
  const figures: Figure[] = [];
  print('policy              endpoints  prompt tokens   p50 µs   p99 µs  quietest p99 µs');
  const requestsOf = new Map<number, readonly InferenceRequest[]>();
  for (const row of ROWS) {
    const requests = requestsOf.get(row.promptTokens) ?? makeRequests(row.promptTokens);
    requestsOf.set(row.promptTokens, requests);
    const figure = await measure(row, requests, effort);
    figures.push(figure);
    print(asLine(figure));
  }
  const document = { seed: SEED, ...effort, figures };
  if (values.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

function asLine({ policy, endpoints, promptTokens, ...figure }: Figure): string {
  return [
    policy.padEnd(18),
    String(endpoints).padStart(10),
    String(promptTokens).padStart(14),
    figure.p50Micros.toFixed(1).padStart(8),
    figure.p99Micros.toFixed(1).padStart(8),
    figure.p99QuietestMicros.toFixed(1).padStart(16),
  ].join(' ');
}

await main();
