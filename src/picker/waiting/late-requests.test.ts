import { describe, expect, it } from 'vitest';
import { promptOf } from '../../../test/prompt-blocks.ts';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';

interface Waiting {
  readonly promptTokens: number;
  /** How many are late; 5 if left out. */
  readonly late?: number;
  /** How many have just come. */
  readonly inTime?: number;
  /** Requests before, all with one prompt of 4,096 tokens that is found cached. */
  readonly found?: number;
}

/** Two requests in time were sent to the only server, and five late ones of so many tokens wait. */
function lateBehindTwo({ promptTokens, late = 5, inTime = 0, found = 0 }: Waiting): World {
  const world = worldOf(1);
  const prompt = promptOf(...Array.from({ length: 64 }, (_, n) => n));
  for (let n = 0; n < found; n++) {
    world.send({ id: `found-${n}`, promptTokens: 4096, prompt });
    world.routed.get(`found-${n}`)?.firstToken();
    world.routed.get(`found-${n}`)?.done('completed');
  }
  world.send({ id: 'running', promptTokens: 100 });
  world.routed.get('running')?.firstToken();
  world.send({ id: 'long', promptTokens: 500_000 });
  for (let n = 0; n < late; n++) world.send({ id: `late-${n}`, promptTokens });
  world.clock.advanceTo(35_000);
  for (let n = 0; n < inTime; n++) world.send({ id: `new-${n}`, promptTokens });
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
    const world = lateBehindTwo({ promptTokens: 1500 });
    expect(lateOnes(world)).toEqual(['late-4']);
    world.routed.get('long')?.done('completed');
    expect(lateOnes(world)).toEqual(['late-4']);
    world.routed.get('running')?.done('aborted');
    expect(lateOnes(world)).toEqual(['late-4', 'late-3', 'late-2', 'late-1', 'late-0']);
  });

  it('[Q353] go no further than they fit in one step', () => {
    const world = lateBehindTwo({ promptTokens: 3000 });
    endOthers(world);
    expect(lateOnes(world)).toEqual(['late-4', 'late-3']);
    world.routed.get('late-4')?.firstToken();
    expect(lateOnes(world)).toEqual(['late-4', 'late-3', 'late-2']);
  });

  it('[Q353] go alone where each fills more than half a step', () => {
    const world = lateBehindTwo({ promptTokens: 5000 });
    endOthers(world);
    expect(lateOnes(world)).toEqual(['late-4']);
  });

  it('[Q361] share a step beside an answer in time where they are many and short', () => {
    const many = lateBehindTwo({ promptTokens: 100, late: 200 });
    many.routed.get('long')?.done('completed');
    expect(lateOnes(many).length).toBeGreaterThan(50);
    const few = lateBehindTwo({ promptTokens: 100, late: 50 });
    few.routed.get('long')?.done('completed');
    expect(lateOnes(few)).toEqual(['late-49']);
    const long = lateBehindTwo({ promptTokens: 3000, late: 4 });
    long.routed.get('long')?.done('completed');
    expect(lateOnes(long)).toEqual(['late-3']);
  });

  it('[Q362] go alone where what waits in time does not fit in one step', () => {
    const some = lateBehindTwo({ promptTokens: 100, late: 200, inTime: 20 });
    some.routed.get('long')?.done('completed');
    expect(lateOnes(some).length).toBeGreaterThan(30);
    const more = lateBehindTwo({ promptTokens: 100, late: 200, inTime: 200 });
    more.routed.get('long')?.done('completed');
    more.routed.get('late-199')?.firstToken();
    expect(lateOnes(more)).toEqual(['late-199']);
    expect(more.order.filter((id) => id.startsWith('new'))).toEqual(['new-199']);
  });

  it('[Q363] go alone where requests find much of their prompts cached', () => {
    const world = lateBehindTwo({ promptTokens: 100, late: 200, found: 20 });
    world.routed.get('long')?.done('completed');
    expect(lateOnes(world).length).toBeLessThan(10);
  });
});
