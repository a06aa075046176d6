import { expect, it } from 'vitest';
import { blocksOf, startPicker } from '../../test/replicas/pickers.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { LinkEvents, OpenReplicaLink } from './links/link.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';

it('[V583] what comes while a replica that ends sends its last messages is not booked, and leaves no timer', async () => {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const closing: (() => void)[] = [];
  /** Closes as slowly as a link that waits until its server has taken everything. */
  const openSlowly: OpenReplicaLink = (id, events) => {
    const link = network.open(id, events);
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        closing.push(() => void link.close().then(resolve));
      });
    return { ...link, close };
  };
  const a = startPicker('a', { clock, openLink: network.open });
  const b = startPicker('b', { clock, openLink: openSlowly });
  clock.advanceBy(2000);
  a.route(blocksOf(10));
  clock.advanceBy(100);
  expect(b.loads().reduce((sum, load) => sum + load, 0)).toBe(1);
  const stopped = b.stop();
  a.route(blocksOf(10));
  clock.advanceBy(2000);
  network.cut('b');
  network.reconnect('b');
  clock.advanceBy(2000);
  expect(b.loads()).toEqual([0, 0, 0, 0]);
  expect(b.replica.status().peers).toEqual([]);
  for (const close of closing) close();
  await stopped;
  await a.stop();
  expect(clock.pending).toBe(0);
});

it('[V598] a flood that comes while a replica ends is left unread, and leaves no timer and no notice', async () => {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  let given: LinkEvents | undefined;
  const openLink: OpenReplicaLink = (id, events) => {
    given = events;
    return network.open(id, events);
  };
  const a = startPicker('a', { clock, openLink });
  clock.advanceBy(2000);
  const before = a.notices.length;
  await a.stop();
  for (let n = 0; n < 50_000; n++) given?.onForged(100);
  given?.onDisconnected('the connection was closed');
  expect([a.notices.slice(before), clock.pending]).toEqual([[], 0]);
});
