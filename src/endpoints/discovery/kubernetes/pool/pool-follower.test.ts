import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeResource } from '../../../../../test/support/kubernetes/fake-resource.ts';
import type { Random } from '../../../../framework/runtime.ts';
import { EndpointPool } from '../../../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { createLog } from '../../../../runtime/log/log.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import type { Node, Pod } from '../watch/kube-objects.ts';
import type { InferencePool } from './inference-pool.ts';
import { PoolFollower } from './pool-follower.ts';
import type { PoolLabels } from './pool-labels.ts';

const LWS = 'leaderworkerset.sigs.k8s.io';
const EVENTS = 10_000;
/** The first ones ever run, and any that has failed since. */
const PINNED = [1, 20_261_121];
/** Another one each time, and in the test's name, so that a failure can be repeated. */
const FRESH = fc.sample(fc.integer({ min: 1, max: 2 ** 31 - 1 }), 1);

interface World {
  readonly clock: SimulatedClock;
  readonly pools: FakeResource<InferencePool>;
  readonly pods: FakeResource<Pod>;
  readonly nodes: FakeResource<Node>;
}

function makeWorld(): World {
  const clock = new SimulatedClock();
  return {
    clock,
    pools: new FakeResource<InferencePool>(clock),
    pods: new FakeResource<Pod>(clock),
    nodes: new FakeResource<Node>(clock),
  };
}

const takes =
  (selector: string) =>
  ({ metadata }: Pod): boolean =>
    selector.split(',').every((pair) => {
      const [name = '', value] = pair.split('=');
      return metadata?.labels?.[name] === value;
    });
const isWorker = ({ metadata }: Pod): boolean =>
  (metadata?.labels?.[`${LWS}/worker-index`] ?? '0') !== '0';

function follow({ clock, pools, pods, nodes }: World) {
  const endpoints = new EndpointPool();
  /** What was said of the pool, with the number of endpoints at that moment. */
  const known: [boolean, number][] = [];
  const labels: PoolLabels[] = [];
  const follower = new PoolFollower({
    sources: {
      pool: pools,
      pods: (selector) => pods.view(takes(selector)),
      workers: () => pods.view(isWorker),
      nodes,
    },
    poolName: { namespace: 'n', name: 'pool' },
    endpoints,
    onLabels: (each) => void labels.push(each),
    onKnown: (each) => void known.push([each, endpoints.snapshot().length]),
    clock,
    random: seededRandom(1),
    log: createLog('silent'),
  });
  const state = (): readonly string[] =>
    endpoints
      .snapshot()
      .map(
        ({ id, address, labels }) =>
          `${id} ${address} ${JSON.stringify([...labels].map(String).sort())}`,
      )
      .sort();
  const ids = (): string =>
    endpoints
      .snapshot()
      .map(({ id }) => id)
      .sort()
      .join(' ');
  return { endpoints, follower, state, ids, known, labels };
}

const pool = (ports: readonly number[], app = 'vllm'): InferencePool => ({
  metadata: { namespace: 'n' },
  spec: { selector: { matchLabels: { app } }, targetPorts: ports.map((number) => ({ number })) },
});

interface PodOptions {
  readonly app?: string;
  readonly ready?: boolean;
  readonly node?: string;
  readonly uid?: string;
  readonly ip?: string;
  readonly deleted?: boolean;
  readonly createdAt?: string;
  readonly group?: { readonly set: string; readonly index: number; readonly worker: number };
  readonly size?: number;
  readonly revision?: string;
}

function pod(options: PodOptions): Pod {
  const { app = 'vllm', ready = true, node = 'node-0', uid, ip = '10.0.0.1', group } = options;
  const { deleted = false, createdAt = '2026-01-01T00:00:00Z', size = 3, revision } = options;
  return {
    metadata: {
      namespace: 'n',
      uid,
      creationTimestamp: createdAt,
      ...(deleted && { deletionTimestamp: createdAt }),
      labels: {
        app,
        ...(revision !== undefined && { [`${LWS}/template-revision-hash`]: revision }),
        ...(group && {
          [`${LWS}/name`]: group.set,
          [`${LWS}/group-index`]: String(group.index),
          [`${LWS}/worker-index`]: String(group.worker),
        }),
      },
      annotations: group === undefined ? {} : { [`${LWS}/size`]: String(size) },
    },
    spec: { nodeName: node },
    status: {
      podIP: ip,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

const member = (worker: number, options: PodOptions = {}): Pod =>
  pod({ ...options, group: { set: 'lws', index: 0, worker } });
const node = (zone: string): Node => ({ labels: new Map([['zone', zone]]) });

/** An event in a cluster, or on the network to it. Returns the number of pod events. */
async function happen(world: World, random: Random): Promise<number> {
  const draw = random.next();
  const upTo = (n: number): number => Math.floor(random.next() * n);
  if (draw < 0.85) {
    podEvent(world.pods, upTo);
    return 1;
  }
  if (draw < 0.95) await world.clock.run(world.clock.now() + upTo(300));
  else if (draw < 0.978) otherEvent(world, draw, upTo);
  else if (draw < 0.998) mishap(world, draw, upTo);
  else await world.clock.run(world.clock.now() + upTo(30_000));
  return 0;
}

function otherEvent({ pools, nodes }: World, draw: number, upTo: (n: number) => number): void {
  if (draw < 0.97) nodes.put(`node-${upTo(5)}`, node(`zone-${upTo(3)}`));
  else if (draw < 0.972) nodes.remove(`node-${upTo(5)}`);
  else if (draw < 0.977) {
    const faulty = { metadata: { namespace: 'n' }, spec: { targetPorts: [{ number: 'x' }] } };
    const good = pool(upTo(2) === 0 ? [8000] : [8000, 8001], upTo(4) === 0 ? 'other' : 'vllm');
    pools.put('pool', upTo(4) === 0 ? faulty : good);
  } else pools.remove('pool');
}

/** On the way between the server and who watches. */
function mishap({ pools, pods, nodes }: World, draw: number, upTo: (n: number) => number): void {
  const all = [pools, pods, nodes];
  if (draw < 0.985) all[upTo(3)]?.cut();
  else if (draw < 0.99) all[upTo(3)]?.compact();
  else if (draw < 0.993) all[upTo(3)]?.bookmark();
  else if (draw > 0.994) for (const each of all) each.up = true;
  else {
    for (const each of all) {
      each.up = false;
      each.cut();
    }
  }
}

function podEvent(pods: FakeResource<Pod>, upTo: (n: number) => number): void {
  const at = upTo(120);
  const name = `pod-${at}`;
  const known = pods.objects.get(name);
  if (upTo(10) < 2) return pods.remove(name);
  const [group, worker] = [Math.floor((at - 40) / 4), at % 4];
  pods.put(
    name,
    pod({
      uid: known === undefined || upTo(10) === 0 ? String(upTo(1e9)) : (known.metadata?.uid ?? ''),
      app: upTo(10) === 0 ? 'other' : 'vllm',
      ready: upTo(8) > 0,
      deleted: upTo(20) === 0,
      node: `node-${upTo(5)}`,
      ip: `10.0.0.${1 + upTo(250)}`,
      createdAt: `2026-01-01T00:00:0${upTo(20) === 0 ? 1 : 0}Z`,
      revision: `r${upTo(20) === 0 ? 1 : 0}`,
      ...(at >= 40 && { group: { set: `lws-${group % 3}`, index: group, worker }, size: 4 }),
    }),
  );
}

describe('a follower of a pool', () => {
  it.each([...PINNED, ...FRESH])(
    `ends in exactly the state of a fresh list after ${EVENTS} events of pods, cuts and outages, seed %i`,
    async (seed) => {
      const world = makeWorld();
      const random = seededRandom(seed);
      world.pools.put('pool', pool([8000]));
      const { follower, state, endpoints } = follow(world);
      let [came, groupsCame] = [0, 0];
      endpoints.observeEndpoints({
        onEndpointAdded: ({ labels }) => {
          came += 1;
          if (labels.has(`${LWS}/name`)) groupsCame += 1;
        },
      });
      for (let events = 0; events < EVENTS; ) events += await happen(world, random);
      for (const each of [world.pools, world.pods, world.nodes]) each.up = true;
      world.pools.put('pool', pool([8000, 8001]));
      await world.clock.run(world.clock.now() + 60_000);
      const fresh = follow(world);
      await world.clock.run(world.clock.now() + 1000);
      expect(state()).toEqual(fresh.state());
      expect(follower.synced && fresh.follower.synced).toBe(true);
      // Far fewer would be a world in which nothing is tried.
      expect(came).toBeGreaterThan(300);
      expect(groupsCame).toBeGreaterThan(50);
      expect(world.pods.lists).toBeGreaterThan(5);
      follower.stop();
      fresh.follower.stop();
    },
  );

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
    expect(await after(() => world.pods.put('lws-0-2', member(2)))).toBe('n/lws-0');
    expect(await after(() => world.pods.put('lws-0-1', member(1, { ready: false })))).toBe('');
    // Recreated: leader first, the old workers still there and ready.
    const again = { createdAt: '2026-01-01T00:01:00Z', uid: 'new' };
    expect(await after(() => world.pods.put('lws-0', member(0, again)))).toBe('');
    expect(await after(() => world.pods.put('lws-0-1', member(1, again)))).toBe('');
    expect(await after(() => world.pods.put('lws-0-2', member(2, again)))).toBe('n/lws-0');
    expect(await after(() => world.pods.remove('lws-0-2'))).toBe('');
    follower.stop();
  });

  it('[D400] tells the labels of the pool', async () => {
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

  it('[D399] knows a pool from when its pods are listed until it is deleted', async () => {
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
    expect(ids()).toBe('n/lws-0');
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
          expect(ids()).toBe(whole ? 'n/w-0' : '');
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
    expect(left).toEqual(['n/p']);
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
    expect(ids()).toBe('n/p');
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
    expect([ids(), endpoints.snapshot()[0]?.address]).toEqual(['n/p', '10.0.0.1:9000']);
    follower.stop();
  });
});
