import { expect, it } from 'vitest';
import { blocksOf, startPicker } from '../../test/replicas/pickers.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';
import { GONE_MS } from './peers/peers.ts';

function twoReplicas() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const start = (id: string) => startPicker(id, { clock, openLink: network.open });
  const [a, b] = [start('a'), start('b')];
  clock.advanceBy(2000);
  a.route(blocksOf(10));
  clock.advanceBy(100);
  const booked = (): number => b.loads().reduce((sum, load) => sum + load, 0);
  const left = (): number => b.notices.filter(({ kind }) => kind === 'left').length;
  return { clock, network, booked, left };
}

it('[V545] a replica that stood still keeps what others have open, and reads first what came', () => {
  const { clock, booked, left } = twoReplicas();
  clock.pass(4 * GONE_MS);
  clock.advanceBy(0);
  expect([booked(), left()]).toEqual([1, 0]);
  clock.advanceBy(60_000);
  expect([booked(), left()]).toEqual([1, 0]);
});

it('[V545] it releases what those have open that stay silent after it', () => {
  const { clock, network, booked, left } = twoReplicas();
  network.cut('a');
  clock.pass(4 * GONE_MS);
  clock.advanceBy(GONE_MS + 1500);
  expect([booked(), left()]).toEqual([0, 1]);
});
