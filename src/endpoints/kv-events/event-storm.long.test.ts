import { expect, it } from 'vitest';
import { kvStorm } from '../../../test/support/storms/kv-storm.ts';

const SEEDS = 25;

it.each([
  { pace: 'busy' },
  { pace: 'usual' },
  { pace: 'still', atOnce: true },
  { pace: 'busy', replay: false },
  { pace: 'usual', blocksMax: 500 },
] as const)(
  `[V601] the indexes of engines agree with their caches at ${SEEDS} seeds, %j`,
  { timeout: 10 * 60_000 },
  (options) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { faults } = kvStorm(seed, { steps: 3000, ...options });
      expect([seed, faults]).toEqual([seed, []]);
    }
  },
);
