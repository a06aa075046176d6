import type { InferencePool } from '../../../src/endpoints/discovery/kubernetes/pool/inference-pool.ts';
import { PoolFollower } from '../../../src/endpoints/discovery/kubernetes/pool/pool-follower.ts';
import type { PoolLabels } from '../../../src/endpoints/discovery/kubernetes/pool/pool-labels.ts';
import type { Node, Pod } from '../../../src/endpoints/discovery/kubernetes/watch/kube-objects.ts';
import type { Clock } from '../../../src/framework/runtime.ts';
import type { EndpointSink } from '../../../src/picker/pool/endpoint-pool.ts';
import { EndpointPool } from '../../../src/picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { createLog } from '../../../src/runtime/log/log.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { FakeResource } from './fake-resource.ts';

export const LWS = 'leaderworkerset.sigs.k8s.io';
export interface World<C extends Clock = SimulatedClock> {
  readonly clock: C;
  readonly pools: FakeResource<InferencePool>;
  readonly pods: FakeResource<Pod>;
  readonly nodes: FakeResource<Node>;
}

export function makeWorld(): World {
  return makeWorldOf(new SimulatedClock());
}

export function makeWorldOf<C extends Clock>(clock: C): World<C> {
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

interface Followed {
  readonly endpoints: EndpointPool;
  readonly follower: PoolFollower;
  /** Each endpoint with its address and labels. */
  readonly state: () => readonly string[];
  readonly ids: () => string;
  /** What was said of the pool, with the number of endpoints at that moment. */
  readonly known: readonly (readonly [boolean, number])[];
  readonly labels: readonly PoolLabels[];
}

/** Follows the pool `n/pool` of this world. `sink` is what keeps endpoints back from it. */
export function follow(
  { clock, pools, pods, nodes }: World<Clock>,
  sink: (endpoints: EndpointPool) => EndpointSink = (endpoints) => endpoints,
): Followed {
  const endpoints = new EndpointPool();
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
    endpoints: sink(endpoints),
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

export const pool = (ports: readonly number[], app = 'vllm'): InferencePool => ({
  metadata: { namespace: 'n' },
  spec: { selector: { matchLabels: { app } }, targetPorts: ports.map((number) => ({ number })) },
});

export interface PodOptions {
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
  readonly activePorts?: string;
}

export function pod(options: PodOptions): Pod {
  const { app = 'vllm', ready = true, node = 'node-0', uid, ip = '10.0.0.1', group } = options;
  const { deleted = false, createdAt = '2026-01-01T00:00:00Z', size = 3, revision } = options;
  const { activePorts } = options;
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
      annotations: {
        ...(group && { [`${LWS}/size`]: String(size) }),
        ...(activePorts !== undefined && { 'llm-d.ai/active-ports': activePorts }),
      },
    },
    spec: { nodeName: node },
    status: {
      podIP: ip,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

export const member = (worker: number, options: PodOptions = {}): Pod =>
  pod({ ...options, group: { set: 'lws', index: 0, worker } });
export const node = (zone: string): Node => ({ labels: new Map([['zone', zone]]) });
