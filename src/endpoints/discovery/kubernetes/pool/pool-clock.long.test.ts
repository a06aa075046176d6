import { expect, it } from 'vitest';
import { poolStorm } from '../../../../../test/support/storms/pool-storm.ts';

const SEEDS = 40;

it.each(['busy', 'usual', 'still'] as const)(
  `[V591] a pool is followed at ${SEEDS} seeds of a clock that is %s`,
  { timeout: 10 * 60_000 },
  async (pace) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { faults } = await poolStorm(seed, { events: 4000, pace });
      expect([seed, faults]).toEqual([seed, []]);
    }
  },
);
