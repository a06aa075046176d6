import { expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { guardedRuntime } from './guarded-runtime.ts';
import { PluginFaults } from './plugin-faults.ts';

it('[V50] a plugin’s runtime has the secret of the process', () => {
  const network = { get: () => Promise.reject(new Error('not asked')) };
  const secret = Uint32Array.of(1, 2, 3, 4);
  const runtime = { clock: new SimulatedClock(), random: seededRandom(1), network, secret };
  const plugin = { kind: 'scorer', name: 'p' };
  expect(guardedRuntime(runtime, plugin, new PluginFaults()).secret).toBe(secret);
});
