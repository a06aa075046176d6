import { expect, it } from 'vitest';
import { faultStorm } from '../support/storms/fault-storm.ts';

const REQUESTS = 1_000_000;

it.each([1, 2])(
  '[V39] leaves nothing in the ledger after a million requests with faults of every kind, seed %i',
  { timeout: 30 * 60_000 },
  (seed) => {
    const { drift, twice, decided } = faultStorm(seed, REQUESTS);
    expect(drift).toEqual([]);
    expect(twice).toBe(0);
    expect(decided).toBeGreaterThan(0.8 * REQUESTS);
  },
);
