import { describe, expect, it } from 'vitest';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { LORA } from '../../framework/endpoint-attributes.ts';

const ENDPOINT = 'e0' as EndpointId;
const NAMES = ['a', 'b', 'c', 'd'];

/** One server with two slots, which reports that these adapters run. */
function report({ picker, clock }: World, running: readonly string[], max = 2): void {
  picker.pool.set(ENDPOINT, LORA, { running: new Set(running), waiting: new Set<string>(), max });
  const metrics = { waitingQueueSize: 0, runningRequests: running.length, kvCacheUsage: 0 };
  picker.pool.observe(ENDPOINT, { ...metrics, sampledAt: clock.now() });
}

/** It has seen all adapters, and computes prompts with two of them. */
function busyServer(max = 2): World {
  const world = worldOf(1);
  report(world, NAMES, max);
  for (const model of ['a', 'b']) {
    world.send({ id: model, model, promptTokens: 64 });
    world.routed.get(model)?.firstToken();
  }
  report(world, ['a', 'b'], max);
  return world;
}

const send = (world: World, id: string, model: string): boolean =>
  world.send({ id, model, promptTokens: 64, fairnessId: 'one tenant' });

describe('requests with adapters', () => {
  it('[Q245] wait while as many others are in flight as there are slots, and go when one has ended', () => {
    const world = busyServer();
    expect(send(world, 'first c', 'c')).toBe(false);
    expect(world.order).toEqual(['a', 'b']);
    world.routed.get('b')?.done('completed');
    expect(world.order).toEqual(['a', 'b', 'first c']);
  });

  it('[Q245] go at once where their adapter is in flight, is none, or has a slot', () => {
    const world = busyServer();
    expect(send(world, 'next a', 'a')).toBe(true);
    expect(send(world, 'base', 'the model itself')).toBe(true);
    // The model itself needs no slot.
    world.routed.get('b')?.done('completed');
    expect(send(world, 'first c', 'c')).toBe(true);
  });

  it('[Q245] do not wait where the server reports no slots, or that it does nothing', () => {
    expect(send(busyServer(0), 'first c', 'c')).toBe(true);
    const idle = busyServer();
    idle.clock.advanceTo(idle.clock.now() + 1000);
    report(idle, []);
    const nothing = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
    idle.picker.pool.observe(ENDPOINT, { ...nothing, sampledAt: idle.clock.now() });
    expect(send(idle, 'first c', 'c')).toBe(true);
  });

  it('[Q246] without a slot do not keep back those of the same tenant that have one', () => {
    const world = busyServer();
    expect(send(world, 'first c', 'c')).toBe(false);
    expect(send(world, 'next a', 'a')).toBe(true);
    expect(send(world, 'first d', 'd')).toBe(false);
    world.routed.get('b')?.done('completed');
    expect(world.order).toEqual(['a', 'b', 'next a', 'first c']);
    // One that comes while its adapter runs passes the other, which has no slot.
    expect(send(world, 'next c', 'c')).toBe(true);
  });

  it('[Q245] wait no longer where their server has left the pool', () => {
    const world = busyServer();
    expect(send(world, 'first c', 'c')).toBe(false);
    world.picker.pool.remove(ENDPOINT);
    expect(world.order).toEqual(['a', 'b', '!first c']);
  });
});
