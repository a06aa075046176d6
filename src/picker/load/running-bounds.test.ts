import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted, NOW } from '../../../test/makers.ts';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT, LORA } from '../../framework/endpoint-attributes.ts';
import type { Millis } from '../../framework/runtime.ts';
import { EngineModel } from '../engine-model/engine-model.ts';

const SERVER = 'e0' as EndpointId;

interface Sample {
  readonly running: number;
  readonly waiting: number;
  readonly usage?: number;
  readonly id?: EndpointId;
}

const PROBE = 'probe' as EndpointId;

/** A request that is placed at another server, and ends: bounds are learned at such times. */
function place({ picker }: World): void {
  const address = '10.9.9.9:80';
  picker.pool.upsert({ id: PROBE, address, labels: new Map() });
  picker.route(makeRequest(), { subset: [address] }).done('completed');
  picker.pool.remove(PROBE);
}

/** What an endpoint reports after so long. */
function report(
  world: World,
  { running, waiting, usage = 0.1, id = SERVER }: Sample,
  afterMs = 50,
): void {
  const { picker, clock } = world;
  clock.advanceTo(clock.now() + afterMs);
  const metrics = { waitingQueueSize: waiting, runningRequests: running, kvCacheUsage: usage };
  picker.pool.observe(id, { ...metrics, sampledAt: clock.now() });
  place(world);
}

/** Sends a request; with its first token it is an answer under way. */
function send(world: World, id: string, isBegun: boolean): void {
  world.send({ id, promptTokens: 64 });
  if (isBegun) world.routed.get(id)?.firstToken();
}

const serverOf = ({ picker }: World): Endpoint => picker.pool.get(SERVER) as Endpoint;
const boundOf = (world: World): number | undefined =>
  world.picker.ledger.load(serverOf(world)).runningMax;

/** One server with two answers under way and one request of ours that waits. */
function fullServer(endpoints = 1): World {
  const world = worldOf(endpoints);
  send(world, 'a', true);
  send(world, 'b', true);
  send(world, 'waits', false);
  return world;
}

/** Reports the same for so long. */
function reportFor(world: World, ms: Millis, sample: Sample): void {
  for (let at = 0; at <= ms; at += 50) report(world, sample);
}

const FULL: Sample = { running: 2, waiting: 1 };

/** The server of `fullServer`, whose bound of two is known. */
function knownServer(): World {
  const world = fullServer();
  reportFor(world, 500, FULL);
  expect(boundOf(world)).toBe(2);
  return world;
}

describe('how many requests a server runs at a time', () => {
  it('[Q333] shows where one of ours waits for longer than its prompt takes, while only answers under way run', () => {
    const world = fullServer();
    report(world, FULL);
    report(world, FULL);
    expect(boundOf(world)).toBeUndefined();
    reportFor(world, 500, FULL);
    expect(boundOf(world)).toBe(2);
  });

  it('[Q333] does not show while prompts are computed, ours are on their way, or memory is nearly full', () => {
    for (const sample of [
      { running: 3, waiting: 1 },
      { running: 2, waiting: 0 },
      { running: 2, waiting: 1, usage: 0.9 },
    ]) {
      const world = fullServer();
      reportFor(world, 2000, sample);
      expect(boundOf(world)).toBeUndefined();
    }
    const onItsWay = fullServer();
    send(onItsWay, 'not there yet', false);
    reportFor(onItsWay, 2000, FULL);
    expect(boundOf(onItsWay)).toBeUndefined();
    const large = fullServer();
    large.picker.pool.set(SERVER, CACHE_CONFIG, { blocks: 5, blockTokens: 16 });
    reportFor(large, 2000, FULL);
    expect(boundOf(large)).toBeUndefined();
  });

  it('[Q333] does not show where several engines share the address, or an adapter waits for its slot', () => {
    const engines = fullServer();
    engines.picker.pool.set(SERVER, ENGINE_COUNT, 2);
    reportFor(engines, 2000, FULL);
    expect(boundOf(engines)).toBeUndefined();
    const adapters = fullServer();
    const lora = { running: new Set(['x']), waiting: new Set(['y']), max: 1 };
    adapters.picker.pool.set(SERVER, LORA, lora);
    reportFor(adapters, 2000, FULL);
    expect(boundOf(adapters)).toBeUndefined();
  });

  it('[Q333] does not show while the requests that wait are others each time', () => {
    const world = fullServer();
    let waiting = 'waits';
    for (let n = 0; n < 20; n++) {
      report(world, FULL);
      report(world, FULL);
      world.routed.get(waiting)?.done('completed');
      waiting = `later ${n}`;
      send(world, waiting, false);
    }
    expect(boundOf(world)).toBeUndefined();
  });

  it('[Q334] is unknown again as soon as more are seen to run, and when the endpoint has left', () => {
    const world = knownServer();
    report(world, { running: 2, waiting: 0 });
    expect(boundOf(world)).toBe(2);
    report(world, { running: 3, waiting: 0 }, 100);
    expect(boundOf(world)).toBeUndefined();
    const left = knownServer();
    left.picker.pool.remove(SERVER);
    left.picker.pool.upsert({ id: SERVER, address: '10.0.0.9:80', labels: new Map() });
    expect(boundOf(left)).toBeUndefined();
  });

  it('[Q334] becomes smaller where one waits while fewer run', () => {
    const world = knownServer();
    world.routed.get('b')?.done('completed');
    reportFor(world, 500, { running: 1, waiting: 1 });
    expect(boundOf(world)).toBe(1);
  });
});

describe('a server that is known to run no more', () => {
  it('[Q335] gets no further request while one waits there, until another has ended', () => {
    const world = knownServer();
    expect(world.send({ id: 'held', promptTokens: 64 })).toBe(false);
    world.routed.get('a')?.done('completed');
    expect(world.order).toEqual(['a', 'b', 'waits', 'held']);
  });

  it('[Q336] costs the time until so many have ended that the request can begin', () => {
    const world = knownServer();
    world.picker.pool.upsert({ id: 'e1' as EndpointId, address: '10.0.0.1:80', labels: new Map() });
    report(world, { running: 0, waiting: 0, id: 'e1' as EndpointId }, 0);
    for (const id of ['c', 'd']) expect(world.send({ id, promptTokens: 64 })).toBe(true);
    const went = (id: string): unknown => world.routed.get(id)?.endpoint.id;
    expect([went('c'), went('d')]).toEqual(['e1', 'e1']);
  });

  it('[Q337] shows nothing of its speed by the first token of a request that waited', () => {
    const server = makeEndpoint('server');
    const model = new EngineModel();
    const before = model.stepTime(server);
    const load = { requests: 2, pendingPrefillTokens: 0, contextTokens: 1000, runningMax: 2 };
    for (let n = 0; n < 50; n++) model.onFirstToken(makeRouted(server, { load }), NOW + 5000);
    expect(model.stepTime(server)).toEqual(before);
    const free = { ...load, requests: 1 };
    model.onFirstToken(makeRouted(server, { load: free }), NOW + 5000);
    expect(model.stepTime(server)).not.toEqual(before);
  });
});
