import { expect, it } from 'vitest';
import { inLongRuns } from '../support/long-runs.ts';
import { faultStorm } from '../support/storms/fault-storm.ts';

const REQUESTS = 20_000;

it.each([1, ...inLongRuns(2, 3)])(
  '[V39] leaves nothing in the ledger after 20,000 requests with faults of every kind, seed %i',
  (seed) => {
    const { drift, twice, decided, refused, expired, faults, ejections, lastedMs } = faultStorm(
      seed,
      REQUESTS,
    );
    // Requests come over so much time that timers end some while others come.
    expect(lastedMs).toBeGreaterThan(0.5 * REQUESTS);
    expect(drift).toEqual([]);
    expect(twice).toBe(0);
    // The storm was one: each kind of fault has happened.
    expect(decided).toBeGreaterThan(0.8 * REQUESTS);
    expect(refused).toBeGreaterThan(0);
    expect(expired).toBeGreaterThan(50);
    expect(ejections).toBeGreaterThan(0);
    const kinds = [...faults.keys()];
    for (const kind of [
      'filter filter',
      'scorer score',
      'picker pick',
      'decider separates',
      'source prepare',
      'source fact test-fact',
      'source timer',
      'source stop',
      'subscriber onDone',
      'subscriber onRouted',
      'scorer onDone',
    ]) {
      expect(kinds).toContain(kind);
    }
  },
);
