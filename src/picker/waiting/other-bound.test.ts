import { expect, it } from 'vitest';
import { planOf, worldOf } from '../../../test/support/waiting-bed.ts';

it.each([
  [60_000, 1000],
  [1000, 2000],
])(
  '[V535] a request that may wait %i ms waits as long as a new configuration says: %i ms',
  (before, after) => {
    const { send, order, picker, clock } = worldOf(1, { maxWaitMs: before });
    for (const id of ['a', 'b']) send({ id });
    clock.advanceTo(50);
    picker.adopt(planOf({ maxWaitMs: after }));
    clock.advanceTo(after - 1);
    expect(order).toEqual(['a']);
    clock.advanceTo(after + 1);
    expect(order).toEqual(['a', '!b']);
  },
);

it('[V535] one that has waited for longer by then is refused at once', () => {
  const { send, order, picker, clock } = worldOf(1);
  for (const id of ['a', 'b']) send({ id });
  clock.advanceTo(500);
  picker.adopt(planOf({ maxWaitMs: 100 }));
  clock.advanceTo(501);
  expect(order).toEqual(['a', '!b']);
});
