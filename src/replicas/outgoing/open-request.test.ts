import { expect, it } from 'vitest';
import { startPicker } from '../../../test/replicas/pickers.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from '../links/simulated-network.ts';

it('[V141] keeps more open requests than fit into a message at a replica that asks for them', () => {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const a = startPicker('a', { clock, openLink: network.open });
  const pass = (ms: number): void => clock.advanceTo(clock.now() + ms);
  pass(50);
  for (let n = 0; n < 3000; n++) a.route();
  const b = startPicker('b', { clock, openLink: network.open });
  pass(500);
  const total = b.loads().reduce((sum, load) => sum + load, 0);
  expect(total).toBe(3000);
  expect(b.loads()).toEqual(a.loads());
});
