import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { planFrom } from '../../src/catalogue/plan.ts';
import { type EndpointId, isFresh } from '../../src/framework/endpoint.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';
import { type FakeServer, FakeServers, vllmPage } from '../support/servers/fake-servers.ts';

const SEED = 7;
const GOOD = ['good-0', 'good-1', 'good-2'];

/** The picks of requests while three servers answer well and one answers as `bad` says. */
async function picksBeside(bad: Partial<FakeServer>, config: string): Promise<readonly string[]> {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const runtime = { clock, random: seededRandom(SEED), network };
  const picker = new EndpointPicker({ plan: planFrom(config), runtime });
  const add = (name: string, server: Partial<FakeServer>): void => {
    const full = { delayMs: 1, dead: false, status: 200, page: '', ...server };
    network.servers.set(`${name}:8000`, full);
    picker.pool.upsert({ id: name as EndpointId, address: `${name}:8000`, labels: new Map() });
  };
  GOOD.forEach((name, index) => add(name, { page: vllmPage(index) }));
  add('bad', bad);
  const picks: string[] = [];
  const random = seededRandom(SEED);
  for (let n = 0; n < 300; n++) {
    await clock.run(clock.now() + 10);
    const routed = picker.route(makeRequest({ id: `r${n}` }));
    picks.push(routed.destinations[0] ?? 'none');
    clock.setTimer(50 + 500 * random.next(), () => routed.done('completed'));
  }
  const fresh = picker.pool.snapshot().filter((endpoint) => isFresh(endpoint, clock.now()));
  expect(fresh.map(({ id }) => id)).toEqual(GOOD);
  picker.stop();
  return picks;
}

const load = (waiting: string, running = '1', usage = '0.5'): string =>
  `vllm:num_requests_waiting ${waiting}\nvllm:num_requests_running ${running}\n` +
  `vllm:kv_cache_usage_perc ${usage}\n`;

/** Pages of which nothing can be used. */
const HOSTILE: readonly (readonly [string, Partial<FakeServer>])[] = [
  ...['+Inf', '-Inf', '1e400', 'NaN', '-1', '1e12', 'many', ''].map(
    (value) => [`waiting ${value}`, { page: load(value) }] as const,
  ),
  ['running NaN', { page: load('0', 'NaN') }],
  ['KV usage 100', { page: load('0', '0', '100') }],
  ['sums beyond every number', { page: load('1e308\nvllm:num_requests_waiting{e="1"} 1e308') }],
  ['empty', { page: '' }],
  ['2 MiB of empty lines', { page: '\n'.repeat(2_000_000) }],
  ['beyond the bound', { page: load('0') + '\n'.repeat(3_000_000) }],
  ['compressed', { page: gzipSync(load('0')).toString('latin1') }],
  ['a redirect', { status: 302, page: load('0') }],
  ['an error with a page', { status: 500, page: load('0') }],
  ['too late', { delayMs: 5000, page: load('0') }],
  ['10,000 series', { page: 'vllm:num_requests_waiting 0\n'.repeat(10_000) + load('0') }],
];

describe.each(['default', 'reference-default', 'least-queue'])(
  'a hostile engine under %s',
  (config) => {
    it.each(HOSTILE)('[V42] decides with %s as if the engine did not answer', async (_, bad) => {
      const picks = await picksBeside(bad, config);
      expect(picks).toEqual(await picksBeside({ dead: true }, config));
      expect(GOOD.every((name) => picks.includes(`${name}:8000`))).toBe(true);
    });
  },
);
