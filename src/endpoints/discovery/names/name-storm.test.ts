import { expect, it } from 'vitest';
import { inLongRuns } from '../../../../test/support/long-runs.ts';
import { nameStorm } from '../../../../test/support/storms/name-storm.ts';

const MORE = Array.from({ length: 60 }, (_, at) => 100 + at);

it.each([
  [4, 'busy'],
  [5, 'usual'],
  [6, 'still'],
  ...inLongRuns(...MORE.map((seed) => [seed, seed % 2 === 0 ? 'busy' : 'usual'] as const)),
] as const)(
  '[V606] endpoints are at the addresses that their names have, whatever DNS does, seed %i, clock %s',
  async (seed, pace) => {
    const { faults, asked, placed } = await nameStorm(seed, { steps: 250, pace });
    expect(faults).toEqual([]);
    expect([asked > 300, placed > 300]).toEqual([true, true]);
  },
);
