import { expect, it } from 'vitest';
import { makeRequest } from '../../../../../test/makers.ts';
import { headroomBed } from '../../../../../test/support/headroom-bed.ts';
import { follow, makeWorld, pod, pool } from '../../../../../test/support/kubernetes/pool-world.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { leanPod, type Pod } from '../watch/kube-objects.ts';
import { EmptyPoolLog } from './empty-pool-log.ts';

/** As the API server sends it, without what the picker does not read. */
function unready(status: Pod['status']): Pod {
  const { metadata = {} } = pod({});
  return leanPod({ metadata, status: { podIP: '10.0.0.1', ...status } }, []);
}
const waiting = (reason: string): Pod =>
  unready({ containerStatuses: [{ state: { waiting: { reason } } }] });

it('[O291] says of a pool without endpoints how many pods there are, and what keeps each from serving', async () => {
  const world = makeWorld();
  const { follower } = follow(world);
  // A reason is kept for a second of the clock, which stands still without timers.
  const until = async (at: number): Promise<void> => {
    await world.clock.run(at);
    world.clock.advanceTo(at);
  };
  expect(follower.whyEmpty).toBe('the API server has not listed the pool and its pods yet');
  await until(1000);
  expect(follower.whyEmpty).toMatch(/^there is no InferencePool pool in namespace n: /);

  world.pools.put('pool', pool([8000]));
  await until(3000);
  expect(follower.whyEmpty).toMatch(/^no pod in namespace n has the labels app=vllm: correct /);

  world.pods.put('a', waiting('CrashLoopBackOff'));
  world.pods.put('b', waiting('CrashLoopBackOff'));
  world.pods.put('c', unready({ phase: 'Pending', podIP: undefined }));
  world.pods.put('d', unready({ conditions: [{ type: 'PodScheduled', status: 'False' }] }));
  world.pods.put('e', unready({ conditions: [{ type: 'Ready', status: 'False' }] }));
  world.pods.put('f', pod({ deleted: true }));
  await until(5000);
  expect(follower.whyEmpty).toBe(
    'none of 6 pods with the labels app=vllm can serve: 2 CrashLoopBackOff, 1 ending, 1 not ready by the readiness probe, 1 not scheduled to a node, 1 starting',
  );
  follower.stop();
});

it('[D548] says of ready pods that no active port of theirs is one of the pool, that their group is not whole, or neither', async () => {
  const world = makeWorld();
  world.pools.put('pool', pool([8000, 8001]));
  world.pods.put('a', pod({ activePorts: '9000' }));
  world.pods.put('b', pod({ activePorts: '' }));
  world.pods.put('c', pod({ group: { set: 'lws', index: 0, worker: 0 } }));
  const { follower } = follow(world);
  await world.clock.run(2000);
  expect(follower.whyEmpty).toBe(
    'none of 3 pods with the labels app=vllm can serve: 2 ready, but without a port of the pool in the annotation llm-d.ai/active-ports, 1 ready, but with a group that is not whole',
  );
  // Asked while the pool is empty, as it is until the rules of the pool are known.
  world.pods.put('a', pod({ activePorts: '8001' }));
  world.clock.advanceTo(5000);
  await world.clock.run(6000);
  expect(follower.whyEmpty).toContain('1 ready, but not taken up yet');
  follower.stop();
});

it('[O291] writes into the log why a pool has no endpoint, once for each reason, and that it has some again', async () => {
  const clock = new SimulatedClock();
  const lines: string[] = [];
  const write = (fields: object, message?: string): void => {
    const { reason = '' } = fields as { readonly reason?: string };
    lines.push(`${message}${reason === '' ? '' : `: ${reason}`}`);
  };
  let [isEmpty, reason] = [true, 'none of 2 pods'];
  const log = new EmptyPoolLog({
    clock,
    log: { warn: write, info: write },
    pool: { namespace: 'n', name: 'pool' },
    isEmpty: () => isEmpty,
    why: () => reason,
  });
  await clock.run(9000);
  expect(lines).toEqual([]);
  await clock.run(60_000);
  expect(lines).toEqual(['the pool has no endpoint: none of 2 pods']);
  reason = 'none of 3 pods';
  await clock.run(120_000);
  isEmpty = false;
  await clock.run(150_000);
  expect(lines.slice(1)).toEqual([
    'the pool has no endpoint: none of 3 pods',
    'the pool has endpoints',
  ]);
  log.stop();
});

it('[O291] does not show it to a client that is refused', () => {
  const { picker } = headroomBed(new SimulatedClock());
  picker.pool.filledBy({ whyEmpty: 'none of 3 pods with the labels app=vllm can serve' });
  expect(() => picker.route(makeRequest())).toThrow(/: the pool has no endpoint$/);
});
