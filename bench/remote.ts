import { SERVING_CATALOGUE } from '../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../src/config/defaults.ts';
import { loadConfig } from '../src/config/load.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import { type InferenceRequest, NO_BLOCKS } from '../src/framework/request.ts';
import type { RoutedRequest } from '../src/framework/routing.ts';
import { quantile, sorted } from '../src/lab/run-summary/statistics.ts';
import { EndpointPicker } from '../src/picker/endpoint-picker.ts';
import { createRealRuntime } from '../src/runtime/real-runtime.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { type ExampleName, exampleCommand, startScheduler } from './support/example-schedulers.ts';
import { parseOptions } from './support/parse-options.ts';

/**
 * Measures the time that a scheduler in another process adds to a pick: the time between `prepare`
 * and the routed request, minus the same time with profiles only in the same run. Requests arrive
 * in an open loop at random times. Every endpoint is sampled every 50 ms, as while serving, and
 * every request has a first token and an end.
 */

const HELP = `npm run bench -- remote [options]

Measures how much time a scheduler in another process adds to a pick.

  --rate <n>        requests per second (1000)
  --seconds <n>     duration of a round (5)
  --rounds <n>      rounds of each scheduler, in turn (3)
  --endpoints <n>   endpoints in the pool (100)
  --json            print one JSON document
`;

const SAMPLE_MS = 50;
/** Requests in flight: the oldest ends when there are so many. */
const IN_FLIGHT = 200;
/** Long enough to measure late answers too. */
const DEADLINE_MS = 100;
const DEFAULT_DEADLINE_MS = 5;
const NAMES: readonly (ExampleName | 'profiles')[] = ['profiles', 'typescript', 'go', 'python'];

interface Figure {
  readonly scheduler: string;
  readonly requests: number;
  readonly decided: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The lowest p99 of all rounds. */
  readonly p99QuietestMs: number;
  /** Share of requests later than the default deadline, which the profiles would decide. */
  readonly lateShare: number;
}

interface Load {
  readonly rate: number;
  readonly seconds: number;
  readonly endpoints: number;
}

/** Runs one open loop and returns the milliseconds that each pick took. */
async function round(picker: EndpointPicker, { rate, seconds }: Load): Promise<number[]> {
  const random = seededRandom(1).fork('arrivals');
  const latencies: number[] = [];
  const open: RoutedRequest[] = [];
  const startedAt = performance.now();
  let dueMs = 0;
  const ids = picker.pool.snapshot().map(({ id }) => id);
  let sampled = 0;
  for (let n = 0; dueMs < seconds * 1000; ) {
    const elapsed = performance.now() - startedAt;
    // One endpoint after the other, as scrapes are spread over their interval.
    for (; sampled < (elapsed / SAMPLE_MS) * ids.length; sampled++) {
      sample(picker, ids[sampled % ids.length] as EndpointId);
    }
    for (; dueMs <= elapsed; n++) {
      ask(picker, makeRequest(n), latencies, open);
      dueMs += (-Math.log(1 - random.next()) / rate) * 1000;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await new Promise((resolve) => setTimeout(resolve, 2 * DEADLINE_MS));
  for (const routed of open) routed.done('completed');
  return latencies;
}

function ask(
  picker: EndpointPicker,
  request: InferenceRequest,
  latencies: number[],
  open: RoutedRequest[],
): void {
  const askedAt = performance.now();
  const route = (): void => {
    const routed = picker.route(request);
    latencies.push(performance.now() - askedAt);
    open.push(routed);
    if (open.length < IN_FLIGHT) return;
    const oldest = open.shift();
    oldest?.firstToken();
    oldest?.done('completed', { promptTokens: 640, completionTokens: 100, cachedTokens: 0 });
  };
  if (picker.prepare?.(request, [], route) !== true) route();
}

function sample(picker: EndpointPicker, id: EndpointId): void {
  const sampledAt = performance.now();
  const waitingQueueSize = Math.round(sampledAt) % 3;
  picker.pool.observe(id, { waitingQueueSize, runningRequests: 2, kvCacheUsage: 0.3, sampledAt });
}

function makeRequest(n: number): InferenceRequest {
  return {
    id: `r${n}-${performance.now()}`,
    model: 'm',
    streaming: true,
    outputTokensMax: 128,
    promptTokens: 640,
    bodyBytes: 3000,
    prompt: NO_BLOCKS,
    priority: 0,
    fairnessId: 'f',
    objective: undefined,
    headers: new Map(),
    ttftSloMs: undefined,
    tpotSloMs: undefined,
  };
}

function makePicker(address: string | undefined, endpoints: number): EndpointPicker {
  const runtime = createRealRuntime({ seed: 1 });
  const scheduler = { type: 'remote', address, deadlineMs: DEADLINE_MS };
  const kind = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
  const text =
    address === undefined
      ? (NAMED_CONFIGS.get('default') ?? '')
      : JSON.stringify({ ...kind, scheduler });
  const network = {
    ...runtime.network,
    get: () => Promise.reject(new Error('nothing is scraped')),
  };
  const picker = new EndpointPicker({
    plan: loadConfig({
      text,
      source: 'bench',
      catalogue: SERVING_CATALOGUE,
    }),
    runtime: { ...runtime, network },
    schedulerRuntime: runtime,
  });
  for (let slot = 0; slot < endpoints; slot++) {
    const id = `10.0.0.${slot}:8000`;
    picker.pool.upsert({ id: id as EndpointId, address: id, labels: new Map() });
  }
  return picker;
}

async function connected(picker: EndpointPicker): Promise<void> {
  const startedAt = performance.now();
  while (picker.replacement()?.connected === false) {
    if (performance.now() - startedAt > 10_000) throw new Error('no scheduler connected in 10 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function measure(name: (typeof NAMES)[number], load: Load): Promise<Round> {
  const command = name === 'profiles' ? undefined : await exampleCommand(name, console.error);
  if (command !== undefined && 'unavailable' in command) throw new Error(command.unavailable);
  const scheduler = command && (await startScheduler(command));
  const picker = makePicker(scheduler?.address, load.endpoints);
  try {
    await connected(picker);
    await round(picker, { ...load, seconds: 1 });
    const before = picker.replacement()?.decided ?? 0;
    const latencies = await round(picker, load);
    return { latencies, decided: (picker.replacement()?.decided ?? 0) - before };
  } finally {
    picker.stop();
    await scheduler?.stop();
  }
}

interface Round {
  readonly latencies: readonly number[];
  readonly decided: number;
}

function figureOf(scheduler: string, rounds: readonly Round[]): Figure {
  const all = rounds.flatMap(({ latencies }) => latencies);
  return {
    scheduler,
    requests: all.length,
    decided: rounds.reduce((sum, { decided }) => sum + decided, 0),
    p50Ms: quantile(sorted(all), 0.5),
    p99Ms: quantile(sorted(all), 0.99),
    p99QuietestMs: Math.min(...rounds.map(({ latencies }) => quantile(sorted(latencies), 0.99))),
    lateShare: all.filter((ms) => ms > DEFAULT_DEADLINE_MS).length / all.length,
  };
}

function asText(figures: readonly Figure[], { rate, endpoints }: Load): string {
  const base = figures.find(({ scheduler }) => scheduler === 'profiles')?.p50Ms ?? 0;
  const lines = figures.map(
    ({ scheduler, requests, decided, p50Ms, p99Ms, p99QuietestMs, lateShare }) =>
      [
        scheduler.padEnd(12),
        String(requests).padStart(9),
        String(decided).padStart(9),
        (p50Ms - base).toFixed(3).padStart(10),
        (p99Ms - base).toFixed(3).padStart(10),
        (p99QuietestMs - base).toFixed(3).padStart(14),
        `${(100 * lateShare).toFixed(2)} %`.padStart(9),
      ].join(' '),
  );
  return [
    `${rate} requests/s, ${endpoints} endpoints; ms added to a pick (profiles only: p50 ${base.toFixed(3)} ms)`,
    'scheduler     requests   decided  added p50  added p99  quietest p99    > 5 ms',
    ...lines,
    '',
  ].join('\n');
}

const { values } = parseOptions({
  options: {
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    endpoints: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else {
  const load = {
    rate: Number(values.rate),
    seconds: Number(values.seconds),
    endpoints: Number(values.endpoints),
  };
  const rounds = new Map<string, Round[]>();
  for (let n = 0; n < Number(values.rounds); n++) {
    for (const name of NAMES) {
      rounds.set(name, [...(rounds.get(name) ?? []), await measure(name, load)]);
    }
  }
  const figures = [...rounds].map(([name, of]) => figureOf(name, of));
  process.stdout.write(
    values.json ? `${JSON.stringify({ ...load, figures })}\n` : asText(figures, load),
  );
  process.exit(0);
}
