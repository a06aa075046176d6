import {
  leanPool,
  readInferencePool,
} from '../../../src/endpoints/discovery/kubernetes/pool/inference-pool.ts';
import { GROUP_ANNOTATIONS } from '../../../src/endpoints/discovery/kubernetes/pool/pod-group.ts';
import {
  endpointsOf,
  PORT_ANNOTATIONS,
} from '../../../src/endpoints/discovery/kubernetes/pool/pool-endpoints.ts';
import {
  leanRule,
  prioritiesOf,
  prioritiesOfV1,
  rewritesOf,
} from '../../../src/endpoints/discovery/kubernetes/rules/rule-objects.ts';
import { KeptObjects } from '../../../src/endpoints/discovery/kubernetes/watch/kept-objects.ts';
import {
  type KubeObject,
  leanNode,
  leanPod,
} from '../../../src/endpoints/discovery/kubernetes/watch/kube-objects.ts';
import { type FuzzTarget, promise, utf8 } from '../target.ts';

const POOL = {
  version: 'v1',
  group: 'inference.networking.k8s.io',
  name: 'pool',
  namespace: 'ns',
  labels: { a: 'b' },
};
const named = (name: string, more: object = {}): object => ({
  name,
  namespace: 'ns',
  resourceVersion: '7',
  creationTimestamp: '2026-01-02T03:04:05Z',
  ...more,
});
const SET = 'leaderworkerset.sigs.k8s.io';
const POD = {
  metadata: named('pod', {
    uid: 'u',
    labels: { app: 'vllm' },
    annotations: { 'llm-d.ai/active-ports': '8000' },
  }),
  spec: { nodeName: 'node' },
  status: {
    phase: 'Running',
    podIP: '10.0.0.1',
    hostIP: '10.9.0.1',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }],
  },
};
const LEADER = {
  ...POD,
  metadata: named('leader', {
    labels: { [`${SET}/name`]: 'set', [`${SET}/worker-index`]: '0', [`${SET}/group-key`]: 'k' },
    annotations: { [`${SET}/size`]: '1' },
  }),
};
const SEEDS: readonly object[] = [
  POD,
  LEADER,
  {
    metadata: named('pool', { labels: { a: 'b' } }),
    spec: {
      selector: { matchLabels: { app: 'vllm' } },
      targetPorts: [{ number: 8000 }, { number: 8001 }],
      appProtocol: 'http',
    },
  },
  { metadata: named('pool'), spec: { selector: { app: 'vllm' }, targetPortNumber: 8000 } },
  { metadata: named('objective'), spec: { poolRef: { name: 'pool' }, priority: 5 } },
  {
    metadata: named('objective'),
    spec: { poolRefs: [{ name: 'pool' }], poolSelector: { matchLabels: { a: 'b' } }, priority: 5 },
  },
  {
    metadata: named('rewrite'),
    spec: {
      poolRef: { name: 'pool', kind: 'InferencePool' },
      rules: [
        { matches: [{ model: { value: 'm' } }], targets: [{ modelRewrite: 'n', weight: 3 }] },
      ],
    },
  },
];

/** An object of a cluster, whoever wrote it: it is used as far as it can be read. */
export const cluster: FuzzTarget = {
  name: 'cluster',
  form: 'json',
  seeds: SEEDS.map((seed) => utf8(JSON.stringify(seed))),
  words: ['null', '[]', '{}', '{"toString":1}', '-1', '1e400', '"__proto__"', '"10.0.0.1"'],
  run: (input) => {
    let object: KubeObject;
    try {
      object = JSON.parse(Buffer.from(input).toString()) as KubeObject;
    } catch {
      return 'no JSON';
    }
    // Others end the watch before.
    if (typeof object !== 'object' || object === null) return 'no object';
    const pods = new KeptObjects();
    const pod = leanPod(object, [...PORT_ANNOTATIONS, ...GROUP_ANNOTATIONS]);
    pods.delete({ metadata: { name: pods.set(pod) } });
    const inheritedLabels = leanNode(object, ['app']).labels;
    const endpoints = endpointsOf(pod, {
      ports: [8000, 8001],
      workersOf: () => [pod],
      inheritedLabels,
    });
    for (const { address } of endpoints) promise(URL.canParse(`http://${address}`), () => address);
    const pool = readInferencePool(leanPool(object));
    const rule = leanRule(object);
    pods.set(rule);
    const read = [
      prioritiesOf([rule], POOL),
      prioritiesOfV1([rule], POOL),
      rewritesOf([rule], POOL),
    ];
    const rules = read.map(
      ({ value, troubles }) => ('size' in value ? value.size : value.length) - troubles.length,
    );
    return `${endpoints.length} ${'fault' in pool ? 'fault' : pool.ports.length} ${rules.join()}`;
  },
};
