import { expect, it } from 'vitest';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../support/redecided.ts';
import { CLOCK_PLANS } from '../support/storms/clock-plans.ts';
import { clockStorm, moodyCatalogue } from '../support/storms/clock-storm.ts';

const catalogue = moodyCatalogue(seededRandom(1));

it.each([
  ['hold', 2, false],
  ['hold', 28, true],
  ['bounded', 5, false],
  ['fair shares', 3, false],
  ['priorities', 31, true],
] as const)(
  '[V533] %s: each request has one answer and leaves nothing where time passes within calls, seed %i, in threads: %s',
  async (plans, seed, inThreads) => {
    const options = { configs: CLOCK_PLANS[plans], requests: 300, inThreads };
    const { faults, records, placed, waited } = clockStorm(seed, { ...options, pace: 'busy' });
    expect(faults).toEqual([]);
    expect([placed > 50, waited > 5]).toEqual([true, true]);
    const decided = await redecideAll(records, { ...REDECIDE_OPTIONS, catalogue });
    expect(decidedOtherwise(decided)).toEqual([]);
  },
);

it('[V533] so where configurations come, go and challenge each other meanwhile', () => {
  const options = { configs: CLOCK_PLANS.both, requests: 300, challenges: 'at will' } as const;
  expect(clockStorm(4, { ...options, pace: 'busy' }).faults).toEqual([]);
});

it.each([
  ['both', 5],
  ['bounded', 6],
] as const)(
  '[V596] so where shadows are promoted and demoted by a rule and by hand, %s, seed %i',
  (plans, seed) => {
    const options = { configs: CLOCK_PLANS[plans], requests: 300, challenges: 'promoted' } as const;
    const { faults, challenged } = clockStorm(seed, { ...options, pace: 'busy' });
    expect(faults).toEqual([]);
    expect(challenged).toBeGreaterThan(10);
  },
);
