import { expect, it } from 'vitest';
import { scrapeStorm } from '../../../test/support/storms/scrape-storm.ts';

it.each([
  [1, 'busy', {}],
  [2, 'usual', { interval: 'adaptive' }],
  [3, 'busy', { interval: '20ms', timeout: '200ms' }],
  [4, 'still', { interval: 'adaptive' }],
] as const)(
  '[V548] each server is scraped on, one scrape at a time, in unsteady time, seed %i, clock %s, %j',
  async (seed, pace, parameters) => {
    const { faults, scrapes } = await scrapeStorm(seed, { steps: 120, pace, parameters });
    expect(faults).toEqual([]);
    expect(scrapes).toBeGreaterThan(1000);
  },
);
