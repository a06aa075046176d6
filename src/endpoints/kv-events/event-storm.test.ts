import { expect, it } from 'vitest';
import { kvStorm } from '../../../test/support/storms/kv-storm.ts';

it.each([
  [1, { pace: 'busy' }],
  [2, { pace: 'usual' }],
  [3, { pace: 'still', atOnce: true }],
  [4, { pace: 'busy', replay: false }],
  [5, { pace: 'usual', blocksMax: 500 }],
] as const)(
  '[V601] the index of an engine agrees with its cache after any restart, loss, delay and cut, seed %i, %j',
  (seed, options) => {
    const { faults, gaps, restarts } = kvStorm(seed, { steps: 800, ...options });
    expect(faults).toEqual([]);
    expect([gaps > 2, restarts > 2]).toEqual([true, true]);
  },
);
