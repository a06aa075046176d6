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

it.each([
  ['leaves `hold` out', undefined],
  ['switches `hold` off', { enabled: false }],
])(
  '[V563] requests that wait are placed by a new configuration that %s, without further events',
  (_what, hold) => {
    const { send, order, picker, clock } = worldOf(2);
    const ids = Array.from({ length: 40 }, (_, n) => `r${n}`);
    for (const id of ids) send({ id });
    expect(order).toEqual(['r0', 'r1']);
    const plan = planOf({ ...hold });
    picker.adopt(hold === undefined ? { ...plan, hold: undefined } : plan);
    clock.advanceTo(20);
    expect(order.toSorted()).toEqual(ids.toSorted());
    expect(picker.waiting.requests).toBe(0);
  },
);

it('[V563] many that wait are placed in slices, so that new requests are decided between them', () => {
  const { send, order, picker, clock, picks } = worldOf(1);
  for (let n = 0; n < 500; n++) send({ id: `r${n}` });
  const before = picks();
  picker.adopt({ ...planOf({}), hold: undefined });
  expect(picks() - before).toBeLessThan(10);
  clock.advanceTo(1000);
  expect(order).toHaveLength(500);
});
