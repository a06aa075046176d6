import { planFrom } from '../../src/catalogue/plan.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import { DecisionRecorder } from '../../src/journal/explain/decision-recorder.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import type { Readiness } from '../../src/serve/admin/admin-routes.ts';
import { startAdminServer } from '../../src/serve/admin/admin-server.ts';
import { LiveCounts } from '../../src/serve/live/live-counts.ts';
import { livePage } from '../../src/serve/live/live-page.ts';
import { requestOf } from '../overhead/decisions.ts';
import { parseOptions } from '../support/parse-options.ts';

/**
 * A picker that decides so many made-up requests a second, without gateway and model servers, and
 * serves its live page: a process of its own, so that a browser's main thread is not that of the
 * decisions. Prints `{"port": …}` once it serves.
 */

const TICK_MS = 20;
/**
 * The endpoints that each request may go to: among all of a large pool no picker decides so often.
 */
const SUBSET = 8;
/**
 * The parts of the pool: each gets prompts that begin alike, so that few endpoints hold one
 * beginning, as in a running pool.
 */
const PARTS = 50;
/**
 * A picker that fell behind decides for no longer than this at once, and never catches up: its
 * timers must run.
 */
const BUSY_MS = 15;
const FIRST_TOKEN_MS = 200;
const ANSWER_MS = 1000;
const SAMPLE_EVERY_MS = 1000;
const SEED = 1;

interface Open {
  readonly at: number;
  readonly request: RoutedRequest;
}

const { values } = parseOptions({
  options: {
    endpoints: { type: 'string', default: '1000' },
    'per-second': { type: 'string', default: '5000' },
  },
});
const endpoints = Number(values.endpoints);
const perMs = Number(values['per-second']) / 1000;

const clock = nodeClock();
const chance = seededRandom(SEED);
const counts = new LiveCounts(clock);
const recorder = new DecisionRecorder({ clock });
const picker = new EndpointPicker({
  plan: planFrom('default'),
  // No page is ever read: the samples are made up.
  runtime: { clock, random: chance, network: { get: () => new Promise<never>(() => undefined) } },
  subscribers: [recorder, counts],
});
const addresses: string[] = [];
const ids = Array.from({ length: endpoints }, (_, at) => `serving/llama-70b-decode-${at}`);
for (const [at, id] of ids.entries()) {
  const address = `10.0.${at >> 8}.${at & 255}:8000`;
  addresses.push(address);
  const labels = new Map([['zone', `zone-${at % 3}`]]);
  picker.pool.upsert({ id: id as EndpointId, address, labels });
}

function sample(): void {
  for (const id of ids) {
    picker.pool.observe(id as EndpointId, {
      waitingQueueSize: Math.floor(chance.next() * 4),
      runningRequests: Math.floor(chance.next() * 64),
      kvCacheUsage: chance.next(),
      sampledAt: clock.now(),
    });
  }
}

const open: Open[] = [];
const begun: Open[] = [];
let turn = 0;
let last = clock.now();

function decide(): void {
  const now = clock.now();
  const due = Math.floor((now - last) * perMs);
  last = now;
  for (let n = 0; n < due && clock.now() - now < BUSY_MS; n++) {
    const part = Math.floor(chance.next() * PARTS);
    const from = Math.floor(((part + chance.next()) * endpoints) / PARTS);
    const subset = addresses.slice(from, from + SUBSET);
    const request = picker.route(requestOf(turn++, part / PARTS), { subset });
    open.push({ at: now, request });
  }
  for (let next = open[0]; next && now - next.at > FIRST_TOKEN_MS; next = open[0]) {
    next.request.firstToken();
    begun.push(next);
    open.shift();
  }
  for (let next = begun[0]; next && now - next.at > ANSWER_MS; next = begun[0]) {
    next.request.done('completed');
    begun.shift();
  }
}

sample();
setInterval(sample, SAMPLE_EVERY_MS);
setInterval(decide, TICK_MS);
const about = { pool: 'bench', policy: 'default', documents: [] };
const ready = (): Readiness => ({ ok: true, state: 'ready', reasons: [], detail: {} });
const page = livePage({ picker, counts, recorder, clock, about, health: ready });
const { port } = await startAdminServer({
  host: '127.0.0.1',
  port: 0,
  documents: new Map(),
  metricsPage: () => Promise.resolve({ contentType: 'text/plain', body: '' }),
  ready,
  ...page,
});
process.stdout.write(`${JSON.stringify({ port })}\n`);
process.once('SIGTERM', () => process.exit(0));
process.once('SIGINT', () => process.exit(0));
