import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { EMBEDDED_CATALOGUE } from '../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../src/config/defaults.ts';
import { loadConfig } from '../src/config/load.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import type { Placement, RoutedRequest } from '../src/framework/routing.ts';
import { withoutNetwork } from '../src/library/create-picker.ts';
import { startCore } from '../src/library/start-core.ts';
import { chainBlockIds } from '../src/openai/prompts/chain-block-ids.ts';
import { SimulatedClock } from '../src/runtime/clock/simulated-clock.ts';
import { randomSecret } from '../src/runtime/random-seed.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';

/**
 * Measures the CPU of a dispatch with many requests waiting by the default policy, and of a storm
 * of cancels, in virtual time and without sockets: `node bench/micro-dispatch.ts [waiting]
 * [endpoints]`.
 */

const [WAITING = 20_000, ENDPOINTS = 32] = process.argv.slice(2).map(Number);
const EVENTS = 4000;
/** The events before count nothing: the code is compiled meanwhile. */
const WARM_UP = 500;
const EVENT_MS = 2.1;
const SAMPLE_EVERY = 25;
const BLOCK_TOKENS = 64;
/** Beginnings that requests share, and their lengths in blocks. */
const FAMILIES = 400;
const FAMILY_BLOCKS_MAX = 200;
const OWN_BLOCKS_MAX = 40;

const clock = new SimulatedClock();
const random = seededRandom(1);
const catalogue = {
  ...EMBEDDED_CATALOGUE,
  dataSources: EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork),
};
const { picker } = startCore({
  plan: loadConfig({ text: NAMED_CONFIGS.get('default') ?? '', source: 'bench', catalogue }),
  seed: 1,
  clock,
  observers: [],
  onFault: ({ error }) => {
    throw error;
  },
  replica: undefined,
  secret: randomSecret(),
});
const families = Array.from({ length: FAMILIES }, () => upTo(FAMILY_BLOCKS_MAX));
const inFlight: RoutedRequest[] = [];
const waiting = new Set<Placement>();
let requests = 0;
let placed = 0;

function upTo(max: number): number {
  return 1 + Math.floor(max * random.next());
}

function makeRequest(): InferenceRequest {
  const number = requests++;
  const family = upTo(FAMILIES) - 1;
  const shared = families[family] ?? 1;
  const blockIds = Array.from({ length: shared + upTo(OWN_BLOCKS_MAX) }, (_, at) =>
    at < shared ? family * 1e6 + at : 1e9 + number * 1e3 + at,
  );
  return {
    id: `r${number}`,
    model: 'm',
    streaming: true,
    outputTokensMax: undefined,
    promptTokens: BLOCK_TOKENS * blockIds.length,
    prompt: chainBlockIds(blockIds, { seedText: 'm', blockTokens: BLOCK_TOKENS }),
    priority: 0,
    fairnessId: 'f',
    objective: undefined,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: new Map(),
    bodyBytes: 1000,
  };
}

function send(request: InferenceRequest): void {
  const placement: Placement = {
    placed: (routed) => {
      placed += 1;
      waiting.delete(placement);
      inFlight.push(routed);
    },
    refused: (error) => {
      throw error;
    },
  };
  const routed = picker.enqueue?.(request, { firstTokenVisible: true }, placement);
  if (routed === undefined) waiting.add(placement);
  else inFlight.push(routed);
}

/** CPU of `work` in milliseconds, with that of the garbage collector. */
function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function sample(): void {
  for (const { id } of picker.pool.snapshot()) {
    const metrics = { waitingQueueSize: 0, runningRequests: 30, kvCacheUsage: 0.5 };
    picker.pool.observe(id, { ...metrics, sampledAt: clock.now() });
  }
}

function figures(given: readonly number[]): string {
  const times = given.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(2);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} (${times.length})`;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

for (let n = 0; n < ENDPOINTS; n++) {
  const [id, address] = [`e${n}` as EndpointId, `10.0.0.${n}:8000`];
  picker.pool.upsert({ id, address, labels: new Map() });
}
while (waiting.size < WAITING) {
  clock.advanceTo(clock.now() + 0.05);
  send(makeRequest());
}
const [placing, others, arriving]: number[][] = [[], [], []];
for (let n = -WARM_UP; n < EVENTS; n++) {
  if (n % SAMPLE_EVERY === 0) sample();
  const routed = inFlight.splice(upTo(inFlight.length) - 1, 1)[0];
  const steps = [
    () => clock.advanceTo(clock.now() + EVENT_MS),
    () => routed?.firstToken(),
    () => routed?.done('completed'),
  ];
  for (const step of steps) {
    const before = placed;
    const ms = cpuOf(step);
    if (n >= 0) (placed > before ? placing : others)?.push(ms);
  }
  while (waiting.size < WAITING) {
    const request = makeRequest();
    const ms = cpuOf(() => send(request));
    if (n >= 0) arriving?.push(ms);
  }
}
process.stdout.write(
  `${WAITING} wait for ${ENDPOINTS} endpoints. CPU ms of a dispatch that places requests: ` +
    `${figures(placing ?? [])}; of one that places none: ${figures(others ?? [])}; ` +
    `of an arrival: ${figures(arriving ?? [])}\n`,
);
const stormMs = cpuOf(() => {
  for (const placement of waiting) picker.cancel(placement);
});
const count = waiting.size;
waiting.clear();
collectGarbage();
const left = picker.waiting;
process.stdout.write(
  `${count} cancelled in ${stormMs.toFixed(0)} ms of CPU: ${left.requests} requests and ${left.bytes} bytes are left, ` +
    `${picker.waits.byEndpoint.length} endpoints are waited for\n`,
);
picker.stop();
