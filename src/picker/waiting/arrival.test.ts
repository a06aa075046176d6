import { expect, it } from 'vitest';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';

/** A world in which so much time passes at each look at the clock but the next one. */
function slowWorld(stepMs: number): World {
  const world = worldOf(1);
  world.send({ id: 'first' });
  const now = world.clock.now.bind(world.clock);
  let passedMs = -stepMs;
  world.clock.now = () => now() + (passedMs += stepMs);
  return world;
}

it('[V521] a request whose endpoint is overdue before the call has returned is placed in the call', () => {
  const { send, order, picker } = slowWorld(60_000);
  expect([send({ id: 'next' }), order]).toEqual([true, ['first', 'next']]);
  expect(picker.waiting.requests).toBe(0);
});

it('[V521] one whose endpoint is not overdue by then waits, and its placement is called later', () => {
  const { send, order, routed } = slowWorld(0.001);
  expect([send({ id: 'next' }), order]).toEqual([false, ['first']]);
  routed.get('first')?.firstToken();
  expect(order).toEqual(['first', 'next']);
});

it('[V521] a request that ends with its picker before the call has returned is refused in the call', () => {
  const { send, picker, clock } = worldOf(1);
  send({ id: 'first' });
  const now = clock.now.bind(clock);
  let isNext = true;
  clock.now = () => {
    if (!isNext && picker.waiting.requests > 0) picker.stop();
    isNext = false;
    return now();
  };
  expect(() => send({ id: 'next' })).toThrow('the picker ends');
});
