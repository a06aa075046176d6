import type { Pod } from '../../../src/endpoints/discovery/kubernetes/watch/kube-objects.ts';
import type { Clock, Millis, Random } from '../../../src/framework/runtime.ts';
import type { FakeResource } from './fake-resource.ts';
import { node, pod, pool, type World } from './pool-world.ts';

/** How many pod events there were, and how long nothing happens then. */
interface Happened {
  readonly pods: number;
  readonly pauseMs: Millis;
}

/** An event in a cluster, or on the network to it, or a pause. */
export function happen(world: World<Clock>, random: Random): Happened {
  const draw = random.next();
  const upTo = (n: number): number => Math.floor(random.next() * n);
  if (draw < 0.85) {
    podEvent(world.pods, upTo);
    return { pods: 1, pauseMs: 0 };
  }
  if (draw < 0.95) return { pods: 0, pauseMs: upTo(300) };
  if (draw >= 0.998) return { pods: 0, pauseMs: upTo(30_000) };
  if (draw < 0.978) otherEvent(world, draw, upTo);
  else mishap(world, draw, upTo);
  return { pods: 0, pauseMs: 0 };
}

function otherEvent(
  { pools, nodes }: World<Clock>,
  draw: number,
  upTo: (n: number) => number,
): void {
  if (draw < 0.97) nodes.put(`node-${upTo(5)}`, node(`zone-${upTo(3)}`));
  else if (draw < 0.972) nodes.remove(`node-${upTo(5)}`);
  else if (draw < 0.977) {
    const faulty = { metadata: { namespace: 'n' }, spec: { targetPorts: [{ number: 'x' }] } };
    const good = pool(upTo(2) === 0 ? [8000] : [8000, 8001], upTo(4) === 0 ? 'other' : 'vllm');
    pools.put('pool', upTo(4) === 0 ? faulty : good);
  } else pools.remove('pool');
}

/** On the way between the server and its watcher. */
function mishap(
  { pools, pods, nodes }: World<Clock>,
  draw: number,
  upTo: (n: number) => number,
): void {
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
