import { expect, it } from 'vitest';
import { runCapacityStorm } from '../support/storms/capacity-storm.ts';
import { runPartedStorm } from '../support/storms/parted-storm.ts';

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

it('[O156] a million picks of four pickers with kills exceed the capacity of no endpoint', () => {
  const storm = { seed: 3, picks: 1_000_000, pickers: 4, hasParts: true };
  expect(runPartedStorm(storm)).toMatchObject({ overshot: 0 });
});
