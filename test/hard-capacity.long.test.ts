import { expect, it } from 'vitest';
import { runCapacityStorm } from './support/capacity-storm.ts';

it.each([
  { seed: 1, waits: true },
  { seed: 2, waits: false },
])(
  '[Q100] a million picks with kills exceed the capacity of no endpoint: waits $waits, seed $seed',
  ({ seed, waits }) => {
    const result = runCapacityStorm({ seed, picks: 500_000, waits });
    expect(result).toMatchObject({ overshot: 0, lost: 0 });
  },
);
