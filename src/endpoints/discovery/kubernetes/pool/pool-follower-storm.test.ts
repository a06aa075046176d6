import { describe, expect, it } from 'vitest';
import type { FakeResource } from '../../../../../test/support/kubernetes/fake-resource.ts';
import {
  follow,
  LWS,
  makeWorld,
  node,
  pod,
  pool,
  type World,
} from '../../../../../test/support/kubernetes/pool-world.ts';
import type { Random } from '../../../../framework/runtime.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import type { Pod } from '../watch/kube-objects.ts';

const EVENTS = 10_000;
/** Any that has failed is added. */
const SEEDS = [1, 2, 20_261_121];

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

/** On the way between the server and its watcher. */
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
  it.each(SEEDS)(
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
});
