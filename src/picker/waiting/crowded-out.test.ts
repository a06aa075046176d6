import { expect, it } from 'vitest';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';

/**
 * Two servers that compute prompts of one tenant, whose next prompt waits, and a request of
 * another.
 */
function burst(): World {
  const world = worldOf(2);
  const [quiet, loud] = [{ fairnessId: 'quiet' }, { fairnessId: 'loud' }];
  world.send({ id: 'before', promptTokens: 64, ...quiet });
  world.routed.get('before')?.firstToken();
  world.send({ id: 'first', promptTokens: 8000, ...loud });
  world.clock.advanceTo(world.clock.now() + 200);
  world.send({ id: 'second', promptTokens: 7800, ...loud });
  expect(world.send({ id: 'third', promptTokens: 8000, ...loud })).toBe(false);
  return world;
}

const placeOf = ({ routed }: World, id: string) => routed.get(id)?.endpoint.id;

it('[Q244] a request of a flow that is crowded out goes where a prompt is nearly computed', () => {
  const world = burst();
  world.send({ id: 'quiet', promptTokens: 64, fairnessId: 'quiet' });
  expect(placeOf(world, 'first')).not.toBe(placeOf(world, 'second'));
  expect(placeOf(world, 'quiet')).toBe(placeOf(world, 'first'));
});
