import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { type World, worldOf } from '../../../test/support/waiting-bed.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';

const SERVER = 'e0' as EndpointId;
const PROBE = 'probe' as EndpointId;

interface Sample {
  readonly running: number;
  readonly usage: number;
  readonly waiting?: number;
}

/** What the server reports after 100 ms, when a request is placed at another one. */
function report({ picker, clock }: World, { running, usage, waiting = 0 }: Sample): void {
  clock.advanceTo(clock.now() + 100);
  const metrics = { waitingQueueSize: waiting, runningRequests: running, kvCacheUsage: usage };
  picker.pool.observe(SERVER, { ...metrics, sampledAt: clock.now() });
  const address = '10.9.9.9:80';
  picker.pool.upsert({ id: PROBE, address, labels: new Map() });
  picker.route(makeRequest(), { subset: [address] }).done('completed');
  picker.pool.remove(PROBE);
}

function reportAll(world: World, ...samples: readonly Sample[]): void {
  for (const sample of samples) report(world, sample);
}

const keptOf = ({ picker }: World): number | undefined =>
  picker.ledger.load(picker.pool.get(SERVER) as Endpoint).keptShare;

/** One server, with so many answers of ours under way. */
function serverWith(answers: number, blocks?: number): World {
  const world = worldOf(1);
  if (blocks !== undefined)
    world.picker.pool.set(SERVER, CACHE_CONFIG, { blocks, blockTokens: 16 });
  for (let n = 0; n < answers; n++) {
    world.send({ id: `${n}`, promptTokens: 64 });
    world.routed.get(`${n}`)?.firstToken();
  }
  return world;
}

const IDLE: Sample = { running: 0, usage: 0.9 };

describe('KV memory in use that no request holds', () => {
  it('[Q357] is what two samples in a row show while nothing runs, and never more than is in use', () => {
    const world = serverWith(0);
    reportAll(world, { running: 1, usage: 0.95 }, IDLE);
    expect(keptOf(world)).toBeUndefined();
    report(world, { running: 0, usage: 0.8 });
    expect(keptOf(world)).toBe(0.8);
    reportAll(world, { running: 9, usage: 1 });
    expect(keptOf(world)).toBe(0.8);
    report(world, { running: 9, usage: 0.3 });
    expect(keptOf(world)).toBe(0.3);
    reportAll(world, { running: 0, usage: 0 }, { running: 0, usage: 0 });
    expect(keptOf(world)).toBeUndefined();
  });

  it('[Q357] is what is beyond four times the tokens of our requests, if these are all and nothing waits', () => {
    const world = serverWith(2, 10_000);
    const { contextTokens } = world.picker.ledger.load(world.picker.pool.get(SERVER) as Endpoint);
    reportAll(world, { running: 2, usage: 0.9 }, { running: 2, usage: 0.9 });
    expect(keptOf(world)).toBeCloseTo(0.9 - (4 * contextTokens) / 160_000, 9);
    for (const sample of [
      { running: 3, usage: 0.9 },
      { running: 2, usage: 0.9, waiting: 1 },
      { running: 2, usage: (4 * contextTokens) / 160_000 },
    ]) {
      const other = serverWith(2, 10_000);
      reportAll(other, sample, sample, sample);
      expect(keptOf(other)).toBeUndefined();
    }
    const unknownSize = serverWith(2);
    reportAll(unknownSize, { running: 2, usage: 0.9 }, { running: 2, usage: 0.9 });
    expect(keptOf(unknownSize)).toBeUndefined();
  });

  it('[Q357] is unknown where answers of ours are under way and the server says that nothing runs', () => {
    const world = serverWith(1);
    reportAll(world, IDLE, IDLE, IDLE);
    expect(keptOf(world)).toBeUndefined();
    world.routed.get('0')?.done('completed');
    reportAll(world, IDLE, IDLE, IDLE);
    expect(keptOf(world)).toBeUndefined();
    reportAll(world, { running: 1, usage: 0.95 }, IDLE, IDLE);
    expect(keptOf(world)).toBe(0.9);
  });

  it('[Q357] is forgotten when the endpoint leaves', () => {
    const world = serverWith(0);
    reportAll(world, IDLE, IDLE);
    expect(keptOf(world)).toBe(0.9);
    world.picker.pool.remove(SERVER);
    world.picker.pool.upsert({ id: SERVER, address: '10.0.0.9:80', labels: new Map() });
    expect(keptOf(world)).toBeUndefined();
  });
});

describe('a server that counts what no request holds as in use', () => {
  it('[Q358] gets as many requests as an equal one that does not', () => {
    const world = worldOf(2);
    const other = 'e1' as EndpointId;
    for (const id of [SERVER, other]) {
      world.picker.pool.set(id, CACHE_CONFIG, { blocks: 10_000, blockTokens: 16 });
    }
    const freshen = (): void =>
      world.picker.pool.observe(other, {
        waitingQueueSize: 0,
        runningRequests: 0,
        kvCacheUsage: 0,
        sampledAt: world.clock.now(),
      });
    for (let n = 0; n < 3; n++) {
      report(world, { running: 0, usage: 1 });
      freshen();
    }
    const went = new Map<unknown, number>();
    for (let n = 0; n < 6; n++) {
      world.send({ id: `${n}`, promptTokens: 64 });
      const id = world.routed.get(`${n}`)?.endpoint.id;
      went.set(id, (went.get(id) ?? 0) + 1);
    }
    expect(went).toEqual(
      new Map([
        [SERVER, 3],
        [other, 3],
      ]),
    );
  });

  it('[Q359] shows by a request that waits how many it runs, though its memory looks full', () => {
    const world = serverWith(0);
    reportAll(world, IDLE, IDLE);
    for (const id of ['a', 'b']) {
      world.send({ id, promptTokens: 64 });
      world.routed.get(id)?.firstToken();
    }
    world.send({ id: 'waits', promptTokens: 64 });
    for (let n = 0; n < 10; n++) report(world, { running: 2, usage: 0.95, waiting: 1 });
    const { runningMax } = world.picker.ledger.load(world.picker.pool.get(SERVER) as Endpoint);
    expect(runningMax).toBe(2);
  });
});
