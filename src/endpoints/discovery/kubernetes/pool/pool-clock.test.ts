import { expect, it } from 'vitest';
import { poolStorm } from '../../../../../test/support/storms/pool-storm.ts';

it.each([
  [1, 'busy'],
  [2, 'usual'],
  [3, 'still'],
] as const)(
  '[V591] a pool is followed, and nothing is left of what ends, in unsteady time, seed %i, clock %s',
  async (seed, pace) => {
    const { faults, came, lists } = await poolStorm(seed, { events: 3000, pace });
    expect(faults).toEqual([]);
    expect([came > 100, lists > 5]).toEqual([true, true]);
  },
);
