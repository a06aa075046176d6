import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../bench/support/nats-server.ts';
import { natsLink } from '../../src/replicas/links/nats/nats-link.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { type SlowProxy, startSlowProxy } from '../support/servers/slow-proxy.ts';
import { blocksOf, type SharedPicker, startPicker } from './pickers.ts';

const clock = nodeClock();
const stops: (() => Promise<unknown>)[] = [];
let server: NatsServer;

beforeAll(async () => {
  server = await startNatsServer();
  return () => server.kill();
}, 330_000);

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const total = (picker: SharedPicker): number => picker.loads().reduce((sum, load) => sum + load, 0);
const until = (check: () => void, timeout: number): Promise<void> =>
  vi.waitFor(check, { timeout, interval: 10 });

async function slow(latencyMs: number, bytesPerSecond: number): Promise<SlowProxy> {
  const proxy = await startSlowProxy(server.port, { latencyMs, bytesPerSecond });
  stops.push(() => proxy.stop());
  return proxy;
}

let boots = 0;
function start(id: string, servers: string, subject: string): SharedPicker {
  const picker = startPicker(id, {
    clock,
    openLink: natsLink({ servers, subject }),
    boot: ++boots,
  });
  stops.push(() => picker.stop());
  return picker;
}

it('[G224] keeps a connection over which each byte takes two seconds, and stays in step', async () => {
  const { port } = await slow(2000, 1_000_000);
  const servers = `nats://127.0.0.1:${port}`;
  const a = start('p0', servers, 'pointsman.slow');
  const b = start('p1', servers, 'pointsman.slow');
  const peersOf = ({ replica }: SharedPicker): number => replica.status().peers.length;
  await until(() => expect([peersOf(a), peersOf(b)]).toEqual([1, 1]), 40_000);
  const open = [a.route(blocksOf(20)), b.route(blocksOf(20, 100)), b.route()];
  await until(() => expect([total(a), total(b)]).toEqual([3, 3]), 20_000);
  const since = performance.now();
  // Longer than the client of NATS waits for three answers.
  await until(() => expect(performance.now() - since).toBeGreaterThan(12_000), 20_000);
  expect([total(a), total(b)]).toEqual([3, 3]);
  for (const each of open) each.done('completed');
  await until(() => expect([total(a), total(b)]).toEqual([0, 0]), 20_000);
  for (const { notices } of [a, b]) {
    expect(notices.map(({ kind }) => kind).filter((kind) => kind !== 'joined')).toEqual([
      'connected',
    ]);
  }
}, 120_000);
