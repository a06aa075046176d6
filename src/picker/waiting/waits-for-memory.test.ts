import { describe, expect, it } from 'vitest';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';

const ENDPOINT = 'e0' as EndpointId;
const CACHE = { blocks: 1000, blockTokens: 16 };

/** One server with room for 16,000 tokens, which works on a prompt of 1,000. */
function busyServer(): World {
  const world = worldOf(1);
  world.picker.pool.set(ENDPOINT, CACHE_CONFIG, CACHE);
  world.send({ id: 'first', promptTokens: 1000 });
  return world;
}

function report({ picker, clock }: World, kvCacheUsage: number, waitingQueueSize: number): void {
  const metrics = { waitingQueueSize, runningRequests: 10, kvCacheUsage };
  picker.pool.observe(ENDPOINT, { ...metrics, sampledAt: clock.now() });
}

describe('requests for a server that is short of memory', () => {
  it('[Q243] wait while one of ours waits there for memory, and go when a sample says otherwise', () => {
    const world = busyServer();
    report(world, 0.95, 1);
    expect(world.send({ id: 'short', promptTokens: 64 })).toBe(false);
    world.clock.advanceTo(world.clock.now() + 50);
    report(world, 0.95, 1);
    expect(world.order).toEqual(['first']);
    report(world, 0.95, 0);
    expect(world.order).toEqual(['first', 'short']);
  });

  it('[Q243] wait there also when the first token is long overdue: it waits for memory', () => {
    const world = busyServer();
    report(world, 1, 1);
    world.send({ id: 'short', promptTokens: 64 });
    for (let second = 0; second < 60; second++) {
      world.clock.advanceTo(world.clock.now() + 1000);
      report(world, 1, 1);
    }
    expect(world.order).toEqual(['first']);
    world.routed.get('first')?.firstToken();
    expect(world.order).toEqual(['first', 'short']);
  });

  it('[Q243] go where what waits is not ours, has room, or is no longer reported', () => {
    const others = busyServer();
    others.routed.get('first')?.firstToken();
    report(others, 1, 5);
    expect(others.send({ id: 'ours', promptTokens: 64 })).toBe(true);
    const roomy = busyServer();
    report(roomy, 0.9, 1);
    expect(roomy.send({ id: 'short', promptTokens: 64 })).toBe(true);
    const silent = busyServer();
    report(silent, 1, 1);
    silent.clock.advanceTo(silent.clock.now() + 2001);
    expect(silent.send({ id: 'short', promptTokens: 64 })).toBe(true);
  });

  it.each([
    [1, false],
    [0.95, false],
    [0.85, true],
  ])(
    '[Q280] go or wait by what ours are like, where the server does not say how much it has and %f is in use',
    (kvCacheUsage, goes) => {
      const world = worldOf(1);
      world.send({ id: 'first', promptTokens: 1000 });
      // Ten requests of this size run there.
      report(world, kvCacheUsage, 1);
      expect(world.send({ id: 'short', promptTokens: 64 })).toBe(goes);
    },
  );
});
