import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  follow,
  LWS,
  makeWorld,
  member,
  node,
  pod,
  pool,
} from '../../../../../test/support/kubernetes/pool-world.ts';

describe('a follower of a pool', () => {
  it('has a group as one endpoint, from when it is whole until the first of its pods fails', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    const { ids, follower } = follow(world);
    const after = async (change: () => void): Promise<string> => {
      change();
      await world.clock.run(world.clock.now() + 10);
      return ids();
    };
    expect(await after(() => world.pods.put('lws-0', member(0)))).toBe('');
    expect(await after(() => world.pods.put('lws-0-1', member(1)))).toBe('');
    expect(await after(() => world.pods.put('lws-0-2', member(2)))).toBe('n/lws-0-rank-0');
    expect(await after(() => world.pods.put('lws-0-1', member(1, { ready: false })))).toBe('');
    // Recreated: leader first, the old workers still there and ready.
    const again = { createdAt: '2026-01-01T00:01:00Z', uid: 'new' };
    expect(await after(() => world.pods.put('lws-0', member(0, again)))).toBe('');
    expect(await after(() => world.pods.put('lws-0-1', member(1, again)))).toBe('');
    expect(await after(() => world.pods.put('lws-0-2', member(2, again)))).toBe('n/lws-0-rank-0');
    expect(await after(() => world.pods.remove('lws-0-2'))).toBe('');
    follower.stop();
  });

  it('[D400] reports the labels of the pool', async () => {
    const world = makeWorld();
    const { follower, labels } = follow(world);
    const { spec } = pool([8000]);
    world.pools.put('pool', { metadata: { namespace: 'n', labels: { tier: 'gold' } }, spec });
    await world.clock.run(1000);
    world.pools.put('pool', { metadata: { namespace: 'n' }, spec });
    await world.clock.run(2000);
    expect(labels.slice(-2)).toEqual([{ tier: 'gold' }, {}]);
    follower.stop();
  });

  it('[D399] has a pool from when its pods are listed until it is deleted', async () => {
    const world = makeWorld();
    world.pods.up = false;
    const { follower, known } = follow(world);
    await world.clock.run(1000);
    world.pools.put('pool', pool([8000]));
    world.pods.put('a', pod({}));
    await world.clock.run(2000);
    expect(known).toEqual([]);
    world.pods.up = true;
    await world.clock.run(60_000);
    expect(known).toEqual([[true, 1]]);
    // The old endpoints serve while the pods of another selector are listed.
    world.pools.put('pool', pool([8000], 'other'));
    world.pods.remove('a');
    await world.clock.run(70_000);
    expect(known).toEqual([[true, 1]]);
    world.pools.remove('pool');
    await world.clock.run(80_000);
    expect(known).toEqual([
      [true, 1],
      [false, 0],
    ]);
    follower.stop();
  });

  it('[O286] says that a pool is not there, from the first list on and once it is deleted', async () => {
    const world = makeWorld();
    const { follower } = follow(world);
    const absent = expect.stringMatching(
      /^there is no InferencePool pool in namespace n: create it, or correct --pool-name/,
    ) as string;
    await world.clock.run(1000);
    expect(follower.troubles).toEqual([absent]);
    world.pools.put('pool', pool([8000]));
    await world.clock.run(3000);
    expect(follower.troubles).toEqual([]);
    world.pools.remove('pool');
    await world.clock.run(5000);
    expect(follower.troubles).toEqual([absent]);
    follower.stop();
  });

  it('sees workers that the pool does not select', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    const { ids, follower } = follow(world);
    world.pods.put('lws-0', member(0));
    world.pods.put('lws-0-1', member(1, { app: 'worker' }));
    await world.clock.run(100);
    expect(ids()).toBe('');
    expect(follower.groups).toEqual({ whole: 0, partial: 1 });
    world.pods.put('lws-0-2', member(2, { app: 'worker' }));
    await world.clock.run(200);
    expect(ids()).toBe('n/lws-0-rank-0');
    expect(follower.groups).toEqual({ whole: 1, partial: 0 });
    world.pods.remove('lws-0');
    await world.clock.run(300);
    expect(follower.groups).toEqual({ whole: 0, partial: 0 });
    follower.stop();
  });

  it('never has a group half of one revision and half of the next, in whatever order its pods are replaced', async () => {
    const next = { revision: 'r2', createdAt: '2026-01-01T00:01:00Z', uid: 'next' };
    const step = fc.record({ worker: fc.nat(2), gone: fc.boolean(), ready: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const world = makeWorld();
        world.pools.put('pool', pool([8000]));
        const { ids, follower } = follow(world);
        for (const each of [0, 1, 2]) world.pods.put(`w-${each}`, member(each, { revision: 'r1' }));
        for (const { worker, gone, ready } of steps) {
          if (gone) world.pods.remove(`w-${worker}`);
          else world.pods.put(`w-${worker}`, member(worker, { ...next, ready }));
          await world.clock.run(world.clock.now() + 10);
          const there = [...world.pods.objects.values()];
          const revisions = there.map(
            ({ metadata }) => metadata?.labels?.[`${LWS}/template-revision-hash`],
          );
          const ready3 = there.every(({ status }) => status?.conditions?.[0]?.status === 'True');
          const whole = there.length === 3 && new Set(revisions).size === 1 && ready3;
          expect(ids()).toBe(whole ? 'n/w-0-rank-0' : '');
        }
        follower.stop();
      }),
      { seed: 1, numRuns: 100 },
    );
  });

  it('gives endpoints the labels of their nodes, and keeps what it knows of them when those change', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    world.nodes.put('node-0', node('a'));
    world.pods.put('p', pod({}));
    const { endpoints, follower } = follow(world);
    await world.clock.run(100);
    const before = endpoints.snapshot()[0];
    expect(before?.labels.get('zone')).toBe('a');
    world.nodes.put('node-0', node('b'));
    await world.clock.run(200);
    const after = endpoints.snapshot()[0];
    expect(after?.labels.get('zone')).toBe('b');
    expect(after?.slot).toBe(before?.slot);
    world.nodes.remove('node-0');
    await world.clock.run(300);
    expect(endpoints.snapshot()[0]?.labels.has('zone')).toBe(false);
    follower.stop();
  });

  test('[D461] keeps the endpoint of a port when its pool gets a second one', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    world.pods.put('p', pod({}));
    const { endpoints, follower } = follow(world);
    await world.clock.run(100);
    const left: string[] = [];
    endpoints.observeEndpoints({ onEndpointRemoved: ({ id }) => void left.push(id) });
    world.pools.put('pool', pool([8000, 8001]));
    await world.clock.run(1200);
    const [first, second] = endpoints.snapshot().map(({ id }) => String(id));
    expect([first, second, left]).toEqual(['n/p-rank-0', 'n/p-rank-1', []]);
    follower.stop();
  });

  it('takes a pod recreated under its old name and address for another server', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    world.pods.put('p', pod({ uid: 'first' }));
    const { endpoints, follower } = follow(world);
    await world.clock.run(100);
    const left: string[] = [];
    endpoints.observeEndpoints({ onEndpointRemoved: ({ id }) => void left.push(id) });
    world.pods.put('p', pod({ uid: 'second' }));
    await world.clock.run(200);
    expect(left).toEqual(['n/p-rank-0']);
    expect(endpoints.snapshot()).toHaveLength(1);
    follower.stop();
  });

  it('goes on with the last pool that could be read, says what is wrong with the next, and then no more', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    world.pods.put('p', pod({}));
    const { ids, follower } = follow(world);
    await world.clock.run(100);
    world.pools.put('pool', { metadata: { namespace: 'n' }, spec: { selector: 7 } });
    await world.clock.run(1200);
    expect(ids()).toBe('n/p-rank-0');
    expect(follower.troubles).toEqual([
      'the pool selects no pods: give spec.selector.matchLabels a label',
    ]);
    world.pools.put('pool', pool([8000]));
    await world.clock.run(2300);
    expect(follower.troubles).toEqual([]);
    follower.stop();
  });

  it('[V345] follows a pool that is edited again and again once a second', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    world.pods.put('p', pod({}));
    const { endpoints, follower, ids } = follow(world);
    await world.clock.run(100);
    let changes = 0;
    endpoints.observeEndpoints({ onEndpointAdded: () => void (changes += 1) });
    const from = world.clock.now();
    const { lists } = world.pods;
    for (let n = 1; n <= 500; n++) {
      world.pools.put('pool', pool([8000 + (n % 7)], n % 2 ? 'vllm' : 'other'));
      await world.clock.run(from + 20 * n);
      world.clock.advanceTo(from + 20 * n);
    }
    expect(world.pods.lists - lists).toBeLessThanOrEqual(11);
    expect(changes).toBeLessThanOrEqual(11);
    world.pools.put('pool', pool([9000]));
    await world.clock.run(world.clock.now() + 2000);
    expect([ids(), endpoints.snapshot()[0]?.address]).toEqual(['n/p-rank-0', '10.0.0.1:9000']);
    follower.stop();
  });

  it('[V592] follows the others where a pod is too large, until the pod is smaller or not selected', async () => {
    const world = makeWorld();
    world.pools.put('pool', pool([8000]));
    const large = pod({ activePorts: 'x'.repeat(17_000) });
    world.pods.put('large', large);
    world.pods.put('other', pod({ app: 'other', ip: '10.0.0.9' }));
    const { ids, follower } = follow(world);
    for (let n = 1; n <= 20; n++) {
      world.pods.put('small', pod({ ip: `10.0.0.${2 + n}` }));
      await world.clock.run(1000 * n);
      world.clock.advanceTo(1000 * n);
    }
    expect([ids(), world.pods.lists]).toEqual(['n/small-rank-0', 1]);
    expect(follower.troubles).toEqual([expect.stringContaining('some pods are left out')]);
    world.pods.put('large', pod({}));
    await world.clock.run(world.clock.now() + 100);
    expect([ids(), follower.troubles]).toEqual(['n/large-rank-0 n/small-rank-0', []]);
    world.pods.put('large', large);
    await world.clock.run(world.clock.now() + 100);
    expect(follower.troubles).toHaveLength(1);
    world.pools.put('pool', pool([8000], 'other'));
    await world.clock.run(world.clock.now() + 2000);
    expect([ids(), follower.troubles]).toEqual(['n/other-rank-0', []]);
    follower.stop();
  });
});
