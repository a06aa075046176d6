import { describe, expect, it } from 'vitest';
import { inLongRuns } from '../support/long-runs.ts';
import { decidedOtherwise, REDECIDE_OPTIONS, redecideAll } from '../support/redecided.ts';
import { MANNERS } from '../support/storms/lying-server.ts';
import { memoryStorm } from '../support/storms/memory-storm.ts';

const SIZE = { requests: 600, servers: 4 };
/** What waits is looked at so often without any event. */
const QUIET_MS = 5000;
/** Twice the time in which the servers answer all requests if they say the truth. */
const LONG_MS = 100_000;

describe('requests that wait for servers that are short of memory', () => {
  it.each(MANNERS.flatMap((manner) => [1, ...inLongRuns(2)].map((seed) => ({ manner, seed }))))(
    '[Q247] all end, and none waits while nothing is computed, where servers say $manner, seed $seed',
    ({ manner, seed }) => {
      const result = memoryStorm({ ...SIZE, seed, manner });
      expect(result).toMatchObject({ completed: SIZE.requests, refused: 0, lost: 0 });
      expect(result.waited).toBeGreaterThan(SIZE.requests / 2);
      expect(result.longestIdleMs).toBeLessThan(QUIET_MS);
      expect(result.lastedMs).toBeLessThan(LONG_MS);
    },
  );

  it.each(MANNERS)(
    '[Q247] all end, for twenty adapters with two slots, where servers say %s',
    (manner) => {
      const result = memoryStorm({ ...SIZE, seed: 1, manner, adapters: 20 });
      expect(result).toMatchObject({ completed: SIZE.requests, refused: 0, lost: 0 });
    },
  );

  it.each([6, ...inLongRuns(7)])(
    '[Q152] of twenty tenants are decided again the same, seed %i',
    async (seed) => {
      const { capture } = memoryStorm({ ...SIZE, seed, tenants: 20, hasFaults: seed === 6 });
      expect(capture.some((record) => record.e === 'q' && record.crowdedOut === true)).toBe(true);
      const decided = await redecideAll(capture, REDECIDE_OPTIONS);
      expect(decidedOtherwise(decided)).toEqual([]);
    },
  );

  it.each([1, 2, ...inLongRuns(3, 4)])(
    '[Q247] all end where servers lie in turn, stop, crash, leave and come back, and are decided again the same, seed %i, with adapters where it is even',
    async (seed) => {
      const adapters = seed % 2 === 0 ? { adapters: 20 } : {};
      const { capture, ...result } = memoryStorm({ ...SIZE, seed, hasFaults: true, ...adapters });
      expect(result).toMatchObject({ refused: 0, lost: 0 });
      expect(result.failed).toBeGreaterThan(0);
      expect(result.stuck).toBeGreaterThan(0);
      expect(result.longestIdleMs).toBeLessThan(QUIET_MS);
      const decided = await redecideAll(capture, REDECIDE_OPTIONS);
      expect(decided.length).toBeGreaterThanOrEqual(SIZE.requests);
      expect(decidedOtherwise(decided)).toEqual([]);
    },
  );
});
