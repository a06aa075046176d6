import { describe, expect, it } from 'vitest';
import { happen } from '../../../../../test/support/kubernetes/pool-events.ts';
import { follow, LWS, makeWorld, pool } from '../../../../../test/support/kubernetes/pool-world.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';

const EVENTS = 10_000;
/** Any that has failed is added. */
const SEEDS = [1, 2, 20_261_121];

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
      for (let events = 0; events < EVENTS; ) {
        const { pods, pauseMs } = happen(world, random);
        events += pods;
        if (pauseMs > 0) await world.clock.run(world.clock.now() + pauseMs);
      }
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
