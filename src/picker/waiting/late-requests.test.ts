import { describe, expect, it } from 'vitest';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';

/** Two requests in time were sent to the only server, and five late ones of so many tokens wait. */
function lateBehindTwo(promptTokens: number): World {
  const world = worldOf(1);
  world.send({ id: 'running', promptTokens: 100 });
  world.routed.get('running')?.firstToken();
  world.send({ id: 'long', promptTokens: 500_000 });
  for (let n = 0; n < 5; n++) world.send({ id: `late-${n}`, promptTokens });
  world.clock.advanceTo(35_000);
  world.routed.get('long')?.firstToken();
  return world;
}

/** The late ones that were placed. One dispatch makes few decisions; the rest follow at once. */
function lateOnes({ clock, order }: World): readonly string[] {
  clock.advanceTo(clock.now() + 5);
  return order.filter((id) => id.startsWith('late'));
}

function endOthers({ routed }: World): void {
  for (const id of ['running', 'long']) routed.get(id)?.done('completed');
}

describe('requests that have waited too long to be in time', () => {
  it('[Q352] share a step where no answer in time is under way', () => {
    const world = lateBehindTwo(1500);
    expect(lateOnes(world)).toEqual(['late-4']);
    world.routed.get('long')?.done('completed');
    expect(lateOnes(world)).toEqual(['late-4']);
    world.routed.get('running')?.done('aborted');
    expect(lateOnes(world)).toEqual(['late-4', 'late-3', 'late-2', 'late-1', 'late-0']);
  });

  it('[Q353] go no further than they fit in one step', () => {
    const world = lateBehindTwo(3000);
    endOthers(world);
    expect(lateOnes(world)).toEqual(['late-4', 'late-3']);
    world.routed.get('late-4')?.firstToken();
    expect(lateOnes(world)).toEqual(['late-4', 'late-3', 'late-2']);
  });

  it('[Q353] go alone where each fills more than half a step', () => {
    const world = lateBehindTwo(5000);
    endOthers(world);
    expect(lateOnes(world)).toEqual(['late-4']);
  });
});
