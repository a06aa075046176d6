import { describe, expect, test } from 'vitest';
import { type FakeServer, FakeServers } from '../../../test/support/servers/fake-servers.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Clock } from '../../framework/runtime.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { metricsSource } from './metrics-source.ts';

const SEED = 1;

function pageOf(running: number): string {
  return [
    `vllm:num_requests_running ${running}`,
    'vllm:num_requests_waiting 0',
    'vllm:kv_cache_usage_perc 0.5\n',
  ].join('\n');
}

function setUp(interval: unknown = 'adaptive', busyShare?: () => number) {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const pool = new EndpointPool();
  const runtime = { clock, random: seededRandom(SEED), network, busyShare };
  const timers: Clock = clock;
  const numbered: Clock = {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    setTimer: () => {
      throw new Error('redecide would look for this timer');
    },
  };
  const host = { name: 'metrics', pool, runtime: { ...runtime, clock: numbered }, timers };
  const source = metricsSource.start(metricsSource.config.parse({ interval }), host);
  pool.observeEndpoints(source);
  const add = (address: string, running = 0): FakeServer => {
    const server = { delayMs: 3, dead: false, status: 200, page: pageOf(running) };
    network.servers.set(address, server);
    pool.upsert({ id: address as EndpointId, address, labels: new Map() });
    return server;
  };
  const routedTo = (address: string, prefill?: string): Routed => {
    const [endpoint, prefillAt] = [address, prefill].map((id) => pool.get(id as EndpointId));
    return { endpoint, prefill: prefillAt, at: clock.now() } as Routed;
  };
  const timesOf = (address: string, from: number): readonly number[] =>
    network.timesOf(address).filter((at) => at >= from);
  const oldestMs = (): number =>
    Math.max(...pool.snapshot().map(({ metrics }) => clock.now() - metrics.sampledAt));
  return { clock, network, pool, source, add, routedTo, timesOf, oldestMs };
}

/** How many scrapes began at each time at which some did. */
function countsPerTurn(sent: readonly { readonly at: number }[]): readonly number[] {
  return [...Map.groupBy(sent, ({ at }) => at).values()].map(({ length }) => length);
}

function gapsOf(times: readonly number[]): readonly number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}

/** With so many busy endpoints each is scraped at intervals between these, in ms. */
async function expectGaps(
  busy: number,
  [from, to]: readonly [from: number, to: number],
  busyShare?: () => number,
): Promise<void> {
  const { clock, add, timesOf, oldestMs } = setUp('adaptive', busyShare);
  for (let n = 1; n <= busy; n++) add(`a${n}:1`, 1);
  await clock.run(1500);
  const gaps = ['a1:1', 'a2:1', `a${busy}:1`].flatMap((host) => gapsOf(timesOf(host, 500)));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(from);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(to);
  expect(oldestMs()).toBeLessThan(200);
}

describe('an adaptive interval', () => {
  test('[B150] is 50 ms where requests run or wait, and 160 ms where none do', async () => {
    const { clock, add, timesOf, oldestMs } = setUp();
    add('busy:1', 3);
    add('idle:1');
    await clock.run(2000);
    let oldest = 0;
    for (let at = 2000; at < 12_000; at += 7) {
      await clock.run(at);
      oldest = Math.max(oldest, oldestMs());
    }
    const [busy, idle] = ['busy:1', 'idle:1'].map((host) => gapsOf(timesOf(host, 2000)));
    expect(Math.max(...(busy ?? []))).toBeLessThanOrEqual(55);
    expect(Math.min(...(idle ?? []))).toBeGreaterThanOrEqual(144);
    expect(Math.max(...(idle ?? []))).toBeLessThanOrEqual(176);
    expect(oldest).toBeLessThan(200);
  });

  test('[B150] an endpoint that is busy by the requests of others is found by its page', async () => {
    const { clock, add, timesOf } = setUp();
    const server = add('a:1');
    await clock.run(3000);
    server.page = pageOf(2);
    await clock.run(5000);
    expect(Math.max(...gapsOf(timesOf('a:1', 3200)))).toBeLessThanOrEqual(55);
    server.page = pageOf(0);
    await clock.run(8000);
    expect(Math.min(...gapsOf(timesOf('a:1', 6200)))).toBeGreaterThanOrEqual(144);
  });

  test('[B151] a request that goes to an idle endpoint, or ends there, makes it busy at once', async () => {
    const { clock, source, add, routedTo, timesOf } = setUp();
    for (const host of ['a:1', 'b:1', 'c:1']) add(host);
    await clock.run(5000);
    const routed = routedTo('a:1', 'b:1');
    source.onRouted?.(routed);
    await clock.run(10_000);
    for (const host of ['a:1', 'b:1']) {
      const times = timesOf(host, 5000);
      expect(times[0]).toBeLessThanOrEqual(5051);
      expect(Math.max(...gapsOf(times))).toBeLessThanOrEqual(55);
    }
    expect(Math.min(...gapsOf(timesOf('c:1', 5000)))).toBeGreaterThanOrEqual(144);
    source.onDone?.(routed, 10_000, 'completed', undefined);
    await clock.run(15_000);
    expect(Math.max(...gapsOf(timesOf('a:1', 9900).filter((at) => at < 11_000)))).toBeLessThan(56);
    expect(Math.min(...gapsOf(timesOf('a:1', 11_200)))).toBeGreaterThanOrEqual(144);
    source.onDone?.(routed, 15_000, 'completed', undefined);
    await clock.run(15_051);
    expect(timesOf('a:1', 15_000).length).toBeGreaterThanOrEqual(1);
  });

  test.each([
    [0, 1000],
    [3, 1000],
    [3, 500],
  ])(
    '[B152] with a thousand endpoints, %i requests running at %i, samples stay younger than 250 ms',
    async (running, busy) => {
      const { clock, network, add, oldestMs } = setUp();
      for (let n = 1; n <= 1000; n++) add(`a${n}:1`, n <= busy ? running : 0);
      await clock.run(2500);
      const before = network.sent.length;
      const ages: number[] = [];
      for (let at = 2500; at <= 4500; at += 100) {
        await clock.run(at);
        ages.push(oldestMs());
      }
      expect(Math.max(...ages)).toBeLessThan(250);
      expect((network.sent.length - before) / 2).toBeLessThanOrEqual(6500);
    },
  );

  test('[B152] beyond a thousand endpoints all wait longer, and pages a second stay as many', async () => {
    const { clock, network, add } = setUp();
    for (let n = 1; n <= 3000; n++) add(`a${n}:1`, 1);
    await clock.run(3000);
    const before = network.sent.length;
    await clock.run(5000);
    expect((network.sent.length - before) / 2).toBeLessThanOrEqual(6500);
  });

  test.each([
    [100, 45, 55],
    [256, 115, 141],
  ])('[D222] of %i busy endpoints each is scraped every %i to %i ms', async (busy, from, to) => {
    await expectGaps(busy, [from, to]);
  });

  test.each([
    [64, 0.2, 45, 55],
    [64, 0.6, 72, 88],
    [64, 0.75, 115, 141],
    [64, 1, 144, 176],
    [8, 0.9, 45, 55],
  ])(
    '[B230] of %i busy endpoints each is scraped less often where the thread is busy for %d of the time',
    async (busy, share, from, to) => {
      await expectGaps(busy, [from, to], () => share);
    },
  );

  test('[B153] scrapes that are due together begin one after another, the new ones of a pool too', async () => {
    const { clock, network, source, add, routedTo } = setUp();
    for (let n = 1; n <= 300; n++) add(`a${n}:1`);
    await clock.run(5000);
    for (let n = 1; n <= 300; n++) source.onRouted?.(routedTo(`a${n}:1`));
    await clock.run(6000);
    expect(Math.max(...countsPerTurn(network.sent))).toBeLessThanOrEqual(24);
    const late = network.sent.filter(({ at }) => at >= 5000 && at < 5165);
    expect(new Set(late.map(({ url }) => url)).size).toBe(300);
  });

  test.each([
    [100, 1 / 16],
    [1000, 1 / 16],
    [8, 1 / 8],
  ])(
    '[B220] scrapes of %i endpoints without requests begin together, and samples stay fresh',
    async (endpoints, wakeUpsPerPage) => {
      const { clock, network, add, oldestMs } = setUp();
      for (let n = 1; n <= endpoints; n++) add(`a${n}:1`);
      await clock.run(3000);
      const before = network.sent.length;
      let oldest = 0;
      for (let at = 3000; at < 6000; at += 7) {
        await clock.run(at);
        oldest = Math.max(oldest, oldestMs());
      }
      const sent = network.sent.slice(before);
      const perTurn = countsPerTurn(sent);
      expect(perTurn.length / sent.length).toBeLessThanOrEqual(1.3 * wakeUpsPerPage);
      expect(Math.max(...perTurn)).toBeLessThanOrEqual(24);
      expect(oldest).toBeLessThan(endpoints > 100 ? 250 : 200);
    },
  );

  test.each([
    [8, 0, 1 / 4],
    [20, 0, 1 / 4],
    [4, 12, 3 / 5],
  ])(
    '[P57] scrapes of %i busy endpoints beside %i idle ones begin some at a time, as often as ever',
    async (busy, idle, wakeUpsPerPage) => {
      const { clock, network, add, timesOf, oldestMs } = setUp();
      for (let n = 1; n <= busy; n++) add(`a${n}:1`, 1);
      for (let n = 1; n <= idle; n++) add(`b${n}:1`);
      await clock.run(3000);
      const before = network.sent.length;
      await clock.run(6000);
      const sent = network.sent.slice(before);
      const perTurn = countsPerTurn(sent);
      expect(perTurn.length / sent.length).toBeLessThanOrEqual(1.1 * wakeUpsPerPage);
      expect(Math.max(...perTurn)).toBeLessThanOrEqual(6);
      const gaps = Array.from({ length: busy }, (_, n) => gapsOf(timesOf(`a${n + 1}:1`, 3000)));
      expect(Math.max(...gaps.flat())).toBeLessThanOrEqual(55);
      expect(sent.length).toBeLessThanOrEqual(1.1 * 3000 * (busy / 50 + idle / 160));
      expect(oldestMs()).toBeLessThan(200);
    },
  );

  test('[B220] scrapes of a pool with a request begin one by one where it is large', async () => {
    const { clock, network, source, add, routedTo } = setUp();
    for (let n = 1; n <= 100; n++) add(`a${n}:1`);
    await clock.run(3000);
    source.onRouted?.(routedTo('a1:1'));
    await clock.run(3300);
    const before = network.sent.length;
    await clock.run(5000);
    const sent = network.sent.slice(before);
    expect(new Set(sent.map(({ at }) => at)).size / sent.length).toBeGreaterThan(0.9);
  });

  test('[B150] an endpoint that goes is counted no more', async () => {
    const { clock, network, pool, add } = setUp();
    for (let n = 1; n <= 1000; n++) add(`a${n}:1`, 1);
    await clock.run(1000);
    for (let n = 2; n <= 1000; n++) pool.remove(`a${n}:1` as EndpointId);
    await clock.run(3000);
    const times = network.timesOf('a1:1').filter((at) => at >= 1500);
    expect(Math.max(...gapsOf(times))).toBeLessThanOrEqual(55);
  });
});

describe('a fixed interval', () => {
  test('[B154] is what it says, for idle endpoints and for a thousand', async () => {
    const { clock, add, timesOf } = setUp('100ms');
    for (let n = 1; n <= 1000; n++) add(`a${n}:1`);
    await clock.run(5000);
    const gaps = gapsOf(timesOf('a1:1', 1000));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(89);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(111);
  });
});
