import { parseArgs } from 'node:util';
import { Bench } from 'tinybench';
import { scorers } from '../scorers/index.ts';
import { builtInCatalogue } from '../src/config/catalogue.ts';
import { NAMED_CONFIGS } from '../src/config/defaults.ts';
import { loadConfig } from '../src/config/load.ts';
import { dataSources } from '../src/datalayer/data-sources.ts';
import { createEndpointPicker, type EndpointPicker } from '../src/endpoint-picker.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import { chainBlockIds } from '../src/request/chain-block-ids.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { SimulatedClock } from '../src/sim/simulated-clock.ts';

/**
 * What one decision costs: the whole of `route`, which makes the context and its facts, filters, scores, picks,
 * reserves and tells every plugin, then the release; and before it one new sample, so that no pick reuses the snapshot
 * of the last. Prompts are hashed already, as they are when their last byte has come.
 */

const SEED = 1;
const BLOCK_TOKENS = 64;
/** Conversations that share their first half: most prompts are partly cached somewhere. */
const FAMILIES = 200;
const REQUESTS = 4000;

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
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly p999Micros: number;
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
    const ids = Array.from({ length: blocks }, (_unused, at) =>
      at < blocks / 2 ? `family ${family} block ${at}` : `turn ${turn} block ${at}`,
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
    catalogue: builtInCatalogue(scorers, dataSources),
  });
  const network = { get: () => Promise.reject(new Error('no network in this bench')) };
  // Its time stands still, so nothing is scraped and no sample goes stale.
  const runtime = { clock: new SimulatedClock(), random: seededRandom(SEED), network };
  const picker = createEndpointPicker({ plan, runtime });
  for (let index = 0; index < endpoints; index++) {
    const address = `10.0.${index >> 8}.${index & 255}:8000`;
    picker.pool.upsert({ id: address as EndpointId, address, labels: new Map() });
  }
  return picker;
}

async function measure(row: Row, seconds: number): Promise<Figure> {
  const { policy, endpoints, promptTokens } = row;
  const picker = makePicker(row);
  const requests = makeRequests(promptTokens);
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
  const pick = (): void => {
    const id = ids[turn % ids.length];
    const request = requests[turn % REQUESTS];
    turn += 1;
    if (id === undefined || request === undefined) return;
    sample(id);
    picker.route(request, { firstTokenSeen: true }).done('completed');
  };
  // Fills the prefix index, so that the picks measured are those of a picker that has been up for long.
  for (let warm = 0; warm < REQUESTS; warm++) pick();
  const bench = new Bench({ time: seconds * 1000, warmup: true, retainSamples: false });
  bench.add(policy, pick);
  const [task] = await bench.run();
  picker.stop();
  const result = task?.result;
  if (result === undefined || !('latency' in result)) {
    throw new Error(`${policy} over ${endpoints} endpoints gave no figures`);
  }
  const { p50, p99, p999, samplesCount } = result.latency;
  const micros = (ms: number): number => Math.round(ms * 10_000) / 10;
  return {
    policy,
    endpoints,
    promptTokens,
    picks: samplesCount,
    p50Micros: micros(p50),
    p99Micros: micros(p99),
    p999Micros: micros(p999),
  };
}

const HELP = `npm run bench -- pick [options]

What one decision costs, without protocol or sockets, for several policies.

  --seconds <n>   for each row (3)
  --json          print one JSON document
`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Error(`--seconds must be above 0, not ${values.seconds}`);
  const figures: Figure[] = [];
  if (!values.json) {
    process.stdout.write(
      'policy              endpoints  prompt tokens   p50 µs   p99 µs  p99.9 µs\n',
    );
  }
  for (const row of ROWS) {
    const figure = await measure(row, seconds);
    figures.push(figure);
    if (!values.json) process.stdout.write(`${asLine(figure)}\n`);
  }
  if (values.json)
    process.stdout.write(`${JSON.stringify({ seed: SEED, figures }, undefined, 2)}\n`);
}

function asLine({ policy, endpoints, promptTokens, ...figure }: Figure): string {
  return [
    policy.padEnd(18),
    String(endpoints).padStart(10),
    String(promptTokens).padStart(14),
    figure.p50Micros.toFixed(1).padStart(8),
    figure.p99Micros.toFixed(1).padStart(8),
    figure.p999Micros.toFixed(1).padStart(9),
  ].join(' ');
}

await main();
