import { expect, it } from 'vitest';
import { inLongRuns } from '../../test/support/long-runs.ts';
import { shadowStorm } from '../../test/support/storms/shadow-storm.ts';

const STEPS = 1000;
const MORE = Array.from({ length: 40 }, (_, at) => 100 + at);

it.each([
  [4, 'busy'],
  [5, 'usual'],
  [6, 'still'],
  ...inLongRuns(...MORE.map((seed) => [seed, seed % 2 === 0 ? 'busy' : 'usual'] as const)),
] as const)(
  '[V610] a shadow whose thread crashes, hangs or cannot be made gets each record after its state, seed %i, clock %s',
  async (seed, pace) => {
    const { faults, restarts, processed } = await shadowStorm(seed, { steps: STEPS, pace });
    expect(faults).toEqual([]);
    expect([restarts > 1, processed > 100]).toEqual([true, true]);
  },
);

it('[V611] a shadow may begin with more than may wait for it', async () => {
  const stateBytes = 17 * 1024 * 1024;
  const { faults, processed } = await shadowStorm(1, { steps: 30, pace: 'still', stateBytes });
  expect(faults).toEqual([]);
  expect(processed).toBeGreaterThan(10);
});
