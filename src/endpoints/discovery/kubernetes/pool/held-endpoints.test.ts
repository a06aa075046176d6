import { describe, expect, it } from 'vitest';
import type { EndpointId } from '../../../../framework/endpoint.ts';
import { EndpointPool } from '../../../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { HeldEndpoints, type WaitReason } from './held-endpoints.ts';

function setUp(max?: number) {
  const clock = new SimulatedClock();
  const pool = new EndpointPool();
  const said: (WaitReason | undefined)[] = [];
  const held = new HeldEndpoints({
    pool,
    clock,
    onWaiting: (why) => void said.push(why),
    ...(max !== undefined && { max }),
  });
  const put = (n: number, port = 80): void =>
    held.upsert({ id: `e${n}` as EndpointId, address: `10.0.0.1:${port}`, labels: new Map() });
  const remove = (n: number): void => held.remove(`e${n}` as EndpointId);
  const ids = (): string =>
    pool
      .snapshot()
      .map(({ id }) => id)
      .join(' ');
  const size = (): number => pool.snapshot().length;
  return { clock, pool, said, held, put, remove, ids, size };
}

/** A pool of so many that has served for a while. */
async function serving(count: number) {
  const world = setUp();
  world.held.release();
  for (let n = 0; n < count; n++) world.put(n);
  expect(world.size()).toBe(count);
  await world.clock.run(20_000);
  world.clock.advanceTo(20_000);
  return world;
}

describe('held endpoints', () => {
  it('come all at once, as they are by then, and later ones at once', () => {
    const { pool, held, put, remove } = setUp();
    const addresses = (): readonly string[] => pool.snapshot().map(({ address }) => address);
    put(1, 1);
    put(2, 2);
    put(2, 3);
    remove(1);
    expect(addresses()).toEqual([]);
    held.release();
    expect(addresses()).toEqual(['10.0.0.1:3']);
    put(3, 4);
    remove(2);
    expect(addresses()).toEqual(['10.0.0.1:4']);
    held.stop();
  });

  it('[V344] beyond the bound wait until others leave, and that is said once', () => {
    const { said, held, put, remove, ids } = setUp(3);
    for (const n of [1, 2]) put(n);
    held.release();
    for (const n of [3, 4, 5, 6]) put(n);
    expect([ids(), said]).toEqual(['e1 e2 e3', ['full']]);
    remove(5);
    remove(2);
    expect(ids()).toBe('e1 e3 e4');
    remove(1);
    expect([ids(), said]).toEqual(['e3 e4 e6', ['full', undefined]]);
    remove(3);
    put(7);
    expect(ids()).toBe('e4 e6 e7');
    held.stop();
  });

  it('[V393] come at once up to 256, and then 50 in a second, in the order in which they came', async () => {
    const { clock, said, put, ids, size } = await serving(8);
    for (let n = 100; n < 1100; n++) put(n);
    expect(size()).toBe(8 + 256);
    await clock.run(24_000);
    expect(size()).toBeGreaterThan(8 + 256 + 190);
    expect(size()).toBeLessThanOrEqual(8 + 256 + 200);
    expect(ids().endsWith(`e${100 + size() - 9}`)).toBe(true);
    expect(said).toEqual([]);
    await clock.run(31_000);
    expect(said).toEqual(['pace']);
    await clock.run(40_000);
    expect([size(), said]).toEqual([1008, ['pace', undefined]]);
  });

  it('[V393] come back at once, or others in their place, however many there were', async () => {
    const { clock, put, remove, size } = await serving(3000);
    for (let n = 0; n < 3000; n++) remove(n);
    expect(size()).toBe(0);
    for (let n = 0; n < 3000; n++) put(n, 81);
    expect(size()).toBe(3000);
    await clock.run(45_000);
    clock.advanceTo(45_000);
    for (let n = 0; n < 3000; n++) remove(n);
    for (let n = 5000; n < 8000; n++) put(n);
    expect(size()).toBe(3000);
  });

  it('[V393] leave at once and come back 50 times a second where they do so again and again', async () => {
    const { clock, pool, put, remove, size } = await serving(8);
    let came = 0;
    const observer = { onEndpointAdded: () => void (came += 1) };
    pool.observeEndpoints(observer);
    came = 0;
    for (let at = 0; at < 10_000; at++) {
      remove(0);
      expect(size()).toBe(7);
      put(0);
      await clock.run(20_000 + at);
      clock.advanceTo(20_000 + at);
    }
    expect(came).toBeLessThanOrEqual(256 + 501);
    // Another that comes meanwhile does not wait for more than its turn.
    put(9);
    await clock.run(30_300);
    expect(pool.get('e9' as EndpointId)).toBeDefined();
  });
});
