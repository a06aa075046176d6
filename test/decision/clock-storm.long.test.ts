import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../support/redecided.ts';
import { CLOCK_PLANS } from '../support/storms/clock-plans.ts';
import { clockStorm, moodyCatalogue } from '../support/storms/clock-storm.ts';

const SEEDS = 60;
const REQUESTS = 700;
const catalogue = moodyCatalogue(seededRandom(1));

describe.each(['hold', 'bounded', 'fair shares', 'priorities', 'both'] as const)('%s', (plans) => {
  it.each(['busy', 'usual', 'still'] as const)(
    `[V533] answers each request once and keeps nothing, at ${SEEDS} seeds of a clock that is %s`,
    { timeout: 20 * 60_000 },
    async (pace) => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const challenges = ([undefined, 'promoted', 'at will'] as const)[seed % 3];
        const fates = { inThreads: seed % 2 === 0, challenges };
        const expires = seed % 5 === 0 && { maxAgeMs: 3000 };
        const configs = CLOCK_PLANS[plans];
        const options = { configs, requests: REQUESTS, pace, ...fates, ...expires };
        const { faults, records } = clockStorm(seed, options);
        expect([seed, faults]).toEqual([seed, []]);
        // Not tried where reservations expire while their requests are still under way.
        if (expires !== false) continue;
        const decided = await redecideAll(records, { ...REDECIDE_OPTIONS, catalogue });
        expect([seed, decidedOtherwise(decided)]).toEqual([seed, []]);
      }
    },
  );
});
