import { afterEach, expect, it, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../bench/support/nats-server.ts';
import { natsLink } from '../../src/replicas/links/nats/nats-link.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { freePort } from '../support/servers/free-port.ts';
import { type SharedPicker, startPicker } from './pickers.ts';

const clock = nodeClock();
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const total = (picker: SharedPicker): number => picker.loads().reduce((sum, load) => sum + load, 0);
const until = (check: () => void): Promise<void> =>
  vi.waitFor(check, { timeout: 40_000, interval: 10 });

async function startCluster(): Promise<readonly [NatsServer, NatsServer]> {
  // A server of a cluster names the ports of the others before they listen.
  const [first, second] = [await freePort(), await freePort()];
  const start = async (own: number, other: number): Promise<NatsServer> => {
    const at = (port: number): string => `nats://127.0.0.1:${port}`;
    const cluster = ['--cluster_name', 'c', '--cluster', at(own), '--routes', at(other)];
    const server = await startNatsServer(0, cluster);
    stops.push(() => server.kill());
    return server;
  };
  return [await start(first, second), await start(second, first)];
}

it('[G225] pickers at two servers of a cluster are in step again after one of the servers is killed', async () => {
  const [first, second] = await startCluster();
  const start = (id: string, servers: string, boot: number): SharedPicker => {
    const openLink = natsLink({ servers, subject: 'pointsman.cluster' });
    const picker = startPicker(id, { clock, openLink, boot });
    stops.push(() => picker.stop());
    return picker;
  };
  const a = start('p0', `${first.url},${second.url}`, 1);
  const b = start('p1', `${second.url},${first.url}`, 2);
  const open = [a.route(), b.route(), b.route()];
  await until(() => expect([total(a), total(b)]).toEqual([3, 3]));
  await first.kill();
  open.push(a.route(), b.route());
  await until(() => expect([total(a), total(b)]).toEqual([5, 5]));
  for (const each of open) each.done('completed');
  await until(() => expect([total(a), total(b)]).toEqual([0, 0]));
}, 330_000);
