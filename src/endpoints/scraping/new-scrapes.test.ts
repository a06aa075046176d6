import { expect, test } from 'vitest';
import { FakeServers } from '../../../test/support/servers/fake-servers.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { metricsSource } from './metrics-source.ts';

const PAGE =
  'vllm:num_requests_running 0\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0\n';

function setUp() {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const pool = new EndpointPool();
  const runtime = { clock, random: seededRandom(1), network };
  const source = metricsSource.start(metricsSource.config.parse({}), {
    name: 'metrics',
    pool,
    runtime,
  });
  pool.observeEndpoints(source);
  const add = (name: string, dead: boolean) => {
    const server = { delayMs: 1, dead, status: 200, page: PAGE };
    network.servers.set(`${name}:1`, server);
    pool.upsert({ id: name as EndpointId, address: `${name}:1`, labels: new Map() });
    return server;
  };
  const remove = (name: string): void => pool.remove(name as EndpointId);
  /** The URLs that were asked in this time. */
  const asked = (from: number, to: number): readonly string[] =>
    network.sent.filter(({ at }) => at >= from && at < to).map(({ url }) => url);
  return { clock, add, remove, asked };
}

const names = (count: number, of: string): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${of}${at}`);

test('[V390] the first scrapes of a thousand endpoints begin at once, of others 500 in a second', async () => {
  const { clock, add, asked } = setUp();
  for (const name of names(1500, 'e')) add(name, false);
  await clock.run(400);
  const seen = new Set(asked(0, 400)).size;
  expect(seen).toBeGreaterThan(1180);
  expect(seen).toBeLessThanOrEqual(1200);
  await clock.run(1100);
  expect(new Set(asked(0, 1100)).size).toBe(1500);
});

test('[V390] thousands of endpoints that do not answer are asked 500 times a second in all', async () => {
  const { clock, add, asked } = setUp();
  for (const name of names(2000, 'dead')) add(name, true);
  add('alive', false);
  await clock.run(6000);
  const [alive, dead] = [true, false].map(
    (is) => asked(4000, 6000).filter((url) => url.includes('alive') === is).length,
  );
  expect(dead).toBeLessThanOrEqual(1010);
  expect(dead).toBeGreaterThan(950);
  // One that answers does not wait for them: 2,001 endpoints have an interval of 320 ms.
  expect(alive).toBeGreaterThanOrEqual(5);
});

test('[V390] endpoints that come and go take no turn once they have left', async () => {
  const { clock, add, remove, asked } = setUp();
  for (let round = 0; round < 10; round++) {
    const all = names(1000, `r${round}-`);
    for (const name of all) add(name, true);
    await clock.run(100 * (round + 1));
    for (const name of all) remove(name);
  }
  add('later', false);
  await clock.run(1100);
  expect(new Set(asked(1000, 1100))).toEqual(new Set(['http://later:1/metrics']));
});
